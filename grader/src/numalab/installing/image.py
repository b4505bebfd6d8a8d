"""A container image of the kit: mmdebstrap makes a bare root file system of a distribution's
packages, so that no registry is needed, and buildah makes the image of it as
.devcontainer/Containerfile says. Both work as root and, by user namespaces, without."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import numalab
from numalab.errors import NumalabError, UserError
from numalab.files import partial_path
from numalab.processes import shell_variables, starting

NAME = "numalab"
_CERTIFICATES = "/tmp/certificates.pem"  # inside, while an image is made
# Of pip's settings those that say where packages are fetched from.
_PIP_VARIABLES = {
    "PIP_INDEX_URL": "index-url",
    "PIP_EXTRA_INDEX_URL": "extra-index-url",
    "PIP_TRUSTED_HOST": "trusted-host",
    "PIP_DEFAULT_TIMEOUT": "timeout",
}


@dataclass(frozen=True)
class Distribution:
    """suite: of Debian or Ubuntu; mirror: the address of its packages, None for mmdebstrap's
    choice; has_virtual_machines: QEMU and a kernel for it; components: of the archive, with commas
    between them."""

    suite: str
    mirror: str | None
    has_virtual_machines: bool
    components: str = "main"

    @property
    def base(self) -> str:
        """The name under which buildah keeps the bare system for the next image."""
        source = f"{self.mirror} {self.components}".encode()
        return f"localhost/{NAME}-base:{self.suite}-{hashlib.sha256(source).hexdigest()[:12]}"

    @property
    def options(self) -> str:
        """Of the scripts that run inside."""
        return "" if self.has_virtual_machines else "--without-virtual-nodes"


@dataclass(frozen=True)
class Checkout:
    """What is committed. time_s: of the commit, in seconds since 1970; source: where it comes from,
    if that is public; changed: files that differ from it, which no image has."""

    root: Path
    commit: str
    time_s: int
    source: str | None
    changed: tuple[str, ...]


# ---- the checkout --------------------------------------------------------------------------------


def _git(root: Path, *words: str) -> str:
    # Whoever owns this copy: its programs are run here anyway.
    command = ["git", "-C", str(root), "-c", "safe.directory=*", *words]
    done = starting.run(command, shell_variables.builder_environment())
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UserError(
            f"an image is made of what is committed, and git {words[0]} in {root} said: {last}. "
            "Use a clone; in a copy without history: git init && git add -A && git commit -m kit"
        )
    return done.stdout


def examine(root: Path) -> Checkout:
    """Raises UserError where it is no clone."""
    top = _git(root, "rev-parse", "--show-toplevel").strip()
    if Path(top).resolve() != root.resolve():
        raise UserError(f"{root} is a part of another repository, {top}; use a clone of the kit")
    commit, time_text = _git(root, "log", "-1", "--format=%H %ct").split()
    status = _git(root, "status", "--porcelain", "--untracked-files=no").splitlines()
    try:
        source = public_address(_git(root, "remote", "get-url", "origin").strip())
    except UserError:
        source = None
    return Checkout(root, commit, int(time_text), source, tuple(line[3:] for line in status))


def public_address(remote: str) -> str | None:
    """A remote's address as all may know it: without a password in it; None for one that is no web
    address."""
    parts = urlsplit(remote)
    if parts.scheme != "https" or not parts.hostname:
        return None
    host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


# ---- commands ------------------------------------------------------------------------------------


def base_command(distribution: Distribution, target: Path) -> list[str]:
    """Return the command that makes target, the tar of a bare root file system."""
    return [
        # Ubuntu counts apt among what a small system does without.
        "mmdebstrap", "--variant=minbase", "--include=apt", "--format=tar",
        f"--components={distribution.components}",
        # This host's, by which packages were fetched; who runs a container gives it its own.
        """--customize-hook=for file in resolv.conf hostname; do : >"$1/etc/$file"; done""",
        distribution.suite, str(target), *([distribution.mirror] if distribution.mirror else []),
    ]  # fmt: skip


def build_command(
    distribution: Distribution, checkout: Checkout, lent: Mapping[Path, str]
) -> list[str]:
    """Return buildah's command, to be run in a copy of what is committed.

    lent: this host's files that what runs inside reads meanwhile, and where.
    """
    labels = {
        "description": f"Labs on NUMA, OpenMP and MPI performance, with their grader; on "
        f"{distribution.suite}",
        "version": numalab.__version__,
        "revision": checkout.commit,
        **({"source": checkout.source} if checkout.source else {}),
    }
    return [
        "buildah", "build", "--isolation=chroot", "--layers", f"--timestamp={checkout.time_s}",
        f"--build-arg=BASE={distribution.base}", f"--build-arg=OPTIONS={distribution.options}",
        *(f"--volume={file}:{inside}:ro" for file, inside in lent.items()),
        *(f"--label=org.opencontainers.image.{name}={value}" for name, value in labels.items()),
        "--file=.devcontainer/Containerfile", f"--tag={NAME}:{numalab.__version__}", ".",
    ]  # fmt: skip


def lent_files(environment: Mapping[str, str], folder: Path) -> dict[Path, str]:
    """Write pip's settings of a user, and name them and the certificates that the user has named
    to pip or OpenSSL, as a site with a proxy or an index of its own does. Raises OSError."""
    named = (environment.get(name) for name in ("PIP_CERT", "SSL_CERT_FILE"))
    certificates = next((Path(name) for name in named if name and Path(name).is_file()), None)
    lines = [
        f"{key} = {environment[name]}"
        for name, key in _PIP_VARIABLES.items()
        if name in environment
    ]
    if certificates is not None:
        lines.append(f"cert = {_CERTIFICATES}")
    if not lines:
        return {}
    settings = folder / "pip.conf"
    settings.write_text("\n".join(["[global]", *lines, ""]))
    settings.chmod(0o644)  # for another user inside, whatever the umask
    found = {settings: "/etc/pip.conf"}
    return found if certificates is None else found | {certificates: _CERTIFICATES}


def check_tools() -> None:
    """Raises UserError with the command that installs what is missing."""
    missing = [tool for tool in ("mmdebstrap", "buildah", "git") if shutil.which(tool) is None]
    if missing:
        raise UserError(
            f"an image is made with mmdebstrap, buildah and git; missing here: "
            f"{' '.join(missing)}. On Debian or Ubuntu: sudo apt-get install {' '.join(missing)}. "
            "Elsewhere make it with Docker or Podman: docker build -f .devcontainer/Containerfile ."
        )


def _run(command: Sequence[str], cwd: Path, output: int = 2) -> None:
    """Runs one of the tools, whose words are the user's to read. output: a file's number; standard
    error, where it is for the terminal. Raises NumalabError, and KeyboardInterrupt once the tool,
    which gets Ctrl-C too, has removed what it had made."""
    process = starting.start(
        command,
        shell_variables.builder_environment(),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
    )
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    if code != 0:
        raise NumalabError(
            f"the image could not be made: {command[0]} ended with {code}, and its words are "
            "above. It needs a network, and some GB in TMPDIR and where buildah keeps images."
        )


# ---- all together --------------------------------------------------------------------------------


def make_image(
    checkout: Checkout, distribution: Distribution, target: Path, afresh: bool
) -> str | None:
    """Make the image, and write it as docker save does, compressed with gzip. What is at the target
    is replaced once the new one is whole.

    afresh: whether packages that buildah keeps from an earlier image are passed over. Returns when
    they were fetched, where they were not. Raises UserError, NumalabError and OSError.
    """
    check_tools()
    with tempfile.TemporaryDirectory(prefix="numalab-image-") as name:
        folder = Path(name)
        kept = None if afresh else _kept_since(distribution)
        if kept is None:
            _make_base(distribution, folder)
        context = folder / NAME
        context.mkdir()
        _git(checkout.root, "archive", f"--output={folder}/kit.tar", checkout.commit)
        _run(["tar", "-xf", f"{folder}/kit.tar"], context)
        lent = lent_files(shell_variables.builder_environment(), folder)
        _run(build_command(distribution, checkout, lent), context)
        tag = f"{NAME}:{numalab.__version__}"
        _run(["buildah", "push", tag, f"docker-archive:{folder}/image.tar:{tag}"], folder)
        partial = partial_path(target)
        try:
            with partial.open("wb") as file:
                _run(["gzip", "--no-name", "--stdout", "image.tar"], folder, file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return kept


def _kept_since(distribution: Distribution) -> str | None:
    """The day on which the bare system that buildah keeps was made."""
    command = ["buildah", "inspect", "--type=image", "--format={{.Docker.Created}}"]
    done = starting.run([*command, distribution.base], shell_variables.builder_environment())
    day = re.match(r"\d{4}-\d\d-\d\d", done.stdout)
    return day[0] if done.returncode == 0 and day else None


def _make_base(distribution: Distribution, folder: Path) -> None:
    """Makes the bare system for buildah to keep."""
    _run(base_command(distribution, folder / "base.tar"), folder)
    working = f"{NAME}-base-{os.getpid()}"
    _run(["buildah", "from", f"--name={working}", "scratch"], folder)
    try:
        _run(["buildah", "add", "--quiet", working, f"{folder}/base.tar", "/"], folder)
        _run(["buildah", "commit", "--quiet", working, distribution.base], folder)
    finally:
        _run(["buildah", "rm", working], folder)
