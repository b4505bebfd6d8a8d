"""A container image of numalab: mmdebstrap makes a bare root file system of a distribution's
packages, so that no registry is needed, and buildah makes the image from it by
.devcontainer/Containerfile."""

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
_CERTIFICATES = "/tmp/certificates.pem"  # in the container, while an image is made
# Variables of pip's settings on where packages are fetched from, and their names in its file.
_PIP_VARIABLES = {
    "PIP_INDEX_URL": "index-url",
    "PIP_EXTRA_INDEX_URL": "extra-index-url",
    "PIP_TRUSTED_HOST": "trusted-host",
    "PIP_DEFAULT_TIMEOUT": "timeout",
}


@dataclass(frozen=True)
class Distribution:
    """A distribution that an image is made of.

    Attributes:
        suite: of Debian or Ubuntu.
        mirror: the address of its packages; None: mmdebstrap's choice.
        has_virtual_machines: the image is for virtual machines, too.
        components: of the archive, separated by commas.
    """

    suite: str
    mirror: str | None
    has_virtual_machines: bool
    components: str = "main"

    @property
    def base(self) -> str:
        """The name under which buildah keeps the bare root file system. It differs by suite, mirror
        and components."""
        source = f"{self.mirror} {self.components}".encode()
        return f"localhost/{NAME}-base:{self.suite}-{hashlib.sha256(source).hexdigest()[:12]}"

    @property
    def options(self) -> str:
        """The image's build argument OPTIONS."""
        return "" if self.has_virtual_machines else "--without-virtual-nodes"


@dataclass(frozen=True)
class Checkout:
    """A clone and its last commit.

    Attributes:
        time_s: of the commit, in seconds since 1970.
        source: the https address of its remote `origin`; None: it has none.
        changed: tracked files that differ from the commit.
    """

    root: Path
    commit: str
    time_s: int
    source: str | None
    changed: tuple[str, ...]


# ---- the checkout --------------------------------------------------------------------------------


def _git(root: Path, *words: str) -> str:
    # Another user may own this copy, whose programs are run anyway.
    command = ["git", "-C", str(root), "-c", "safe.directory=*", *words]
    try:
        done = starting.run(command, shell_variables.builder_environment())
    except FileNotFoundError:
        check_tools()
        raise
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UserError(
            f"an image is made of what is committed, and git {words[0]} in {root} said: {last}. "
            "Use a clone; in a copy without history: git init && git add -A && git commit -m kit"
        )
    return done.stdout


def examine(root: Path) -> Checkout:
    """Return a clone's last commit. Raises UserError where root is not the top of a clone with a
    commit, or programs that make an image are missing."""
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
    """Return a remote's address without user and password; None where it is not https, or can't be
    parsed."""
    try:
        parts = urlsplit(remote)
    except ValueError:
        return None
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme != "https" or not host:
        return None
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


# ---- commands ------------------------------------------------------------------------------------


def base_command(distribution: Distribution, target: Path) -> list[str]:
    """Return the command that writes the tar of a bare root file system to target."""
    return [
        # Ubuntu counts apt among what a small system does without.
        "mmdebstrap", "--variant=minbase", "--include=apt", "--format=tar",
        f"--components={distribution.components}",
        # They are this machine's, for fetching packages; a container gets others when it runs.
        """--customize-hook=for file in resolv.conf hostname; do : >"$1/etc/$file"; done""",
        distribution.suite, str(target), *([distribution.mirror] if distribution.mirror else []),
    ]  # fmt: skip


def build_command(
    distribution: Distribution, checkout: Checkout, lent: Mapping[Path, str]
) -> list[str]:
    """Return buildah's command, to be run in a copy of what is committed.

    lent: files of this machine that are mounted meanwhile, with their paths in the container."""
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
    """Return the files that pip needs in the container, with their paths there: its settings,
    written to pip.conf in the folder, and certificates. Empty where the environment has none of
    _PIP_VARIABLES and names no file of certificates that is there."""
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
    settings.chmod(0o644)  # read by another user in the container, whatever the umask
    found = {settings: "/etc/pip.conf"}
    return found if certificates is None else found | {certificates: _CERTIFICATES}


def check_tools() -> None:
    """Raise UserError where a program that makes an image is missing, with a command that installs
    it."""
    missing = [tool for tool in ("mmdebstrap", "buildah", "git") if shutil.which(tool) is None]
    if missing:
        raise UserError(
            f"an image is made with mmdebstrap, buildah and git; missing here: "
            f"{' '.join(missing)}. On Debian or Ubuntu: sudo apt-get install {' '.join(missing)}. "
            "Elsewhere make it with Docker or Podman: docker build -f .devcontainer/Containerfile ."
        )


def _run(command: Sequence[str], cwd: Path, output: int = 2) -> None:
    """Run a program, and wait for it, also after Ctrl-C. output: descriptor for its standard
    output; by default this process's standard error."""
    environment = shell_variables.builder_environment()
    process = starting.start(command, environment, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output)
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
    """Make an image, and write it as docker save does, compressed with gzip. A file at the target
    is replaced once the new one is complete.

    afresh: make the bare root file system even where buildah keeps that of an earlier image. Return
    the day on which the kept one was made (YYYY-MM-DD); None: it was made now. Raises UserError
    where a program is missing."""
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
    """Return the day on which the bare root file system that buildah keeps was made (YYYY-MM-DD);
    None: it keeps or names none."""
    command = ["buildah", "inspect", "--type=image", "--format={{.Docker.Created}}"]
    done = starting.run([*command, distribution.base], shell_variables.builder_environment())
    day = re.match(r"\d{4}-\d\d-\d\d", done.stdout)
    return day[0] if done.returncode == 0 and day else None


def _make_base(distribution: Distribution, folder: Path) -> None:
    """Make the bare root file system in a folder, and have buildah keep it."""
    _run(base_command(distribution, folder / "base.tar"), folder)
    working = f"{NAME}-base-{os.getpid()}"
    _run(["buildah", "from", f"--name={working}", "scratch"], folder)
    try:
        _run(["buildah", "add", "--quiet", working, f"{folder}/base.tar", "/"], folder)
        _run(["buildah", "commit", "--quiet", working, distribution.base], folder)
    finally:
        _run(["buildah", "rm", working], folder)
