"""A root file system out of a distribution's packages, by mmdebstrap, which works as root and, by
user namespaces, without. Nothing of an image is made in any other way."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import KitError, UserError
from numalab.processes import starting
from numalab.words import StepReport

HOME_IS_IN = "home"
HOME = f"/{HOME_IS_IN}/student"
FOLDER = f"{HOME}/numalab"  # the kit, in an image
LAST_LINES = 12
END_LIMIT_S = 120.0  # of mmdebstrap, which unmounts and removes what it has made
# Of the user's environment what decides how packages are fetched; no more of it gets into an image.
_PASSED_ON = (
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT",
)  # fmt: skip
_CERTIFICATES = "/tmp/certificates.pem"  # inside, while an image is made
# What of all that is said tells how far it is.
_STEP = re.compile(
    r"(?:numalab: |setup: |I: (?=running apt|downloading|extracting|installing|creating))(.+)"
)


@dataclass(frozen=True)
class Distribution:
    """suite: of Debian or Ubuntu; mirror: the address of its packages, None for mmdebstrap's
    choice; with_virtual_nodes: QEMU and a kernel for it; components: of the archive, with commas
    between them."""

    suite: str
    mirror: str | None
    with_virtual_nodes: bool
    components: str = "main"

    @property
    def options(self) -> list[str]:
        """Of the scripts that run inside."""
        return [] if self.with_virtual_nodes else ["--without-virtual-nodes"]


def system_command(distribution: Distribution, kit: Path, target: Path) -> list[str]:
    """Makes target, the tar of a root file system with all packages and the user, but not the kit.
    kit: the tar of a copy of it, in a folder numalab/."""
    inside = "/tmp/kit"
    copy = f"{inside}/numalab"
    run = " ".join([f"{copy}/common/image/system", f"{copy}/numalab", *distribution.options])
    return [
        # Ubuntu counts apt among what a small system does without.
        "mmdebstrap", "--variant=minbase", "--include=apt", "--format=tar",
        f"--components={distribution.components}",
        f'--customize-hook=mkdir -p "$1{inside}"',
        f"--customize-hook=tar-in {shlex.quote(str(kit))} {inside}",
        f'--customize-hook=chroot "$1" {run}',
        f'--customize-hook=rm -r "$1{inside}"',
        # This host's, by which packages were fetched; who runs a container gives it its own.
        """--customize-hook=for file in resolv.conf hostname; do : >"$1/etc/$file"; done""",
        distribution.suite, str(target),
        *([distribution.mirror] if distribution.mirror else []),
    ]  # fmt: skip


def kit_command(
    distribution: Distribution, system: Path, kit: Path, certificates: Path | None, target: Path
) -> list[str]:
    """Makes target, the tar of the user's home folder (student/...) with the kit set up in it.
    system: what system_command has made; kit: the tar of a copy of the kit, in a folder numalab/;
    certificates: by which this host knows servers."""
    run = " ".join([f"{FOLDER}/common/image/kit", FOLDER, *distribution.options])
    uploads = [(Path("/etc/resolv.conf"), "/etc/resolv.conf")]
    if certificates is not None:
        uploads.append((certificates, _CERTIFICATES))
    return [
        "mmdebstrap", "--variant=custom", "--skip=update,setup,cleanup", "--format=null",
        f"--setup-hook=tar-in {shlex.quote(str(system))} /",
        *(
            f"--customize-hook=upload {shlex.quote(str(outside))} {inside}"
            for outside, inside in uploads
        ),
        f"--customize-hook=tar-in {shlex.quote(str(kit))} {HOME}",
        f'--customize-hook=chroot "$1" {run}',
        f"--customize-hook=tar-out {HOME} {shlex.quote(str(target))}",
        distribution.suite, "/dev/null",
    ]  # fmt: skip


def certificates_of(environment: Mapping[str, str]) -> Path | None:
    """The file that the user has named to pip or OpenSSL, which a site with a proxy of its own
    does."""
    named = (environment.get(name) for name in ("PIP_CERT", "SSL_CERT_FILE"))
    return next((Path(name) for name in named if name and Path(name).is_file()), None)


def environment_of(
    environment: Mapping[str, str], folder: Path, time_s: int, has_certificates: bool
) -> dict[str, str]:
    """Of mmdebstrap and of what it runs. environment: the user's; folder: for temporary files;
    time_s: seconds since 1970, which no file is later than."""
    chosen = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": environment.get("HOME", "/root"),
        "LANG": "C.UTF-8",
        "TMPDIR": str(folder),
        "SOURCE_DATE_EPOCH": str(time_s),
    }
    chosen |= {name: environment[name] for name in _PASSED_ON if name in environment}
    return chosen | ({"PIP_CERT": _CERTIFICATES} if has_certificates else {})


def check_tools(is_root: bool) -> None:
    """Raises UserError with the command that installs what is missing."""
    needed = {"mmdebstrap": "mmdebstrap", "git": "git"}
    if not is_root:
        needed["newuidmap"] = "uidmap"
    # mmdebstrap and uidmap's programs lie in no user's PATH on some systems.
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for tool, name in needed.items() if shutil.which(tool, path=path) is None]
    if missing:
        raise UserError(
            f"an image is made with {', '.join(needed.values())}; missing here: "
            f"{' '.join(missing)}. On Debian or Ubuntu: sudo apt-get install {' '.join(missing)}. "
            "Elsewhere make it with Docker or Podman: docker build -f .devcontainer/Containerfile ."
        )


def run(command: Sequence[str], environment: Mapping[str, str], progress: StepReport) -> None:
    """Runs mmdebstrap and tells how far it is. Ctrl-C ends it in its own way: it unmounts and
    removes what it has made. Raises KitError with its last words."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    process = starting.start_with_text(
        command, environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, process_group=0,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            # A bar is drawn over itself.
            told = line.rsplit("\r", 1)[-1].strip()
            if told:
                last.append(told)
            step = _STEP.match(told)
            if step is not None:
                progress(step[1].removesuffix("..."))
        code = process.wait()
    except BaseException:
        # All of its processes, as at a terminal; what it runs inside ends before it tidies up.
        for number, wait_s in ((signal.SIGINT, END_LIMIT_S), (signal.SIGKILL, END_LIMIT_S)):
            with suppress(ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                os.killpg(process.pid, number)
                process.wait(wait_s)
        raise
    if code != 0:
        raise KitError(
            f"mmdebstrap could not make the image (exit code {code}); is there a network? "
            "Its last words:\n" + "\n".join(last)
        )
