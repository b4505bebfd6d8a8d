"""From a checkout to an image: the system's layer, kept for the next image, the kit's layer, and
both in one archive."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import numalab
from numalab.container import debian, layers
from numalab.container.debian import Distribution
from numalab.container.oci import Image, Layer, Settings, rfc3339, write_archive
from numalab.errors import UserError
from numalab.files import partial_path, read_json, write_json
from numalab.processes import shell_variables, starting
from numalab.words import StepReport, amount

NAME = "numalab"
# In Go's words, which images are described in.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le"}
# Root file system, its tar, the home folder's, in order and not, and layers, at once.
TEMPORARY_BYTES = 8 << 30
SYSTEM_BY = "numalab image: packages"
KIT_BY = "numalab image: the kit, set up"
ENVIRONMENT = {
    "PATH": f"{debian.FOLDER}:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
}


@dataclass(frozen=True)
class Checkout:
    """What is committed. time_s: of the commit, in seconds since 1970; source: where it comes from,
    if that is public; changed: files that differ from it, which no image has."""

    root: Path
    commit: str
    time_s: int
    source: str | None
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Made:
    """An image and how long it took. kept: when the packages in it were fetched, where that was for
    an earlier image."""

    file: Path
    size_bytes: int
    took_s: float
    kept: str | None


def labels_of(checkout: Checkout, suite: str) -> dict[str, str]:
    """The names are those of the OCI image specification's annotations."""
    labels = {
        "title": NAME,
        "description": f"Labs on NUMA, OpenMP and MPI performance, with their grader; on {suite}",
        "version": numalab.__version__,
        "revision": checkout.commit,
        "created": rfc3339(checkout.time_s),
        "licenses": "BSD-3-Clause AND CC-BY-4.0",
    }
    if checkout.source is not None:
        labels["source"] = checkout.source
    return {f"org.opencontainers.image.{name}": value for name, value in labels.items()}


def settings_of(labels: Mapping[str, str]) -> Settings:
    """What a container runs, as which user and where; .devcontainer/Containerfile says the same."""
    return Settings(ENVIRONMENT, "1000:1000", debian.FOLDER, ["bash"], labels)


def public_address(remote: str) -> str | None:
    """A remote's address as all may know it: without a password in it; None for one that is no web
    address."""
    parts = urlsplit(remote)
    if parts.scheme != "https" or not parts.hostname:
        return None
    host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


# ---- the checkout --------------------------------------------------------------------------------


def _git(root: Path, *words: str) -> str:
    # Whoever owns this copy: its programs are run here anyway.
    command = ["git", "-C", str(root), "-c", "safe.directory=*", *words]
    done = starting.run(command, shell_variables.for_builders())
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


def _export(checkout: Checkout, folder: Path) -> Path:
    """The committed kit as a tar, in a folder numalab/."""
    tar = folder / "kit.tar"
    _git(
        checkout.root, "archive", f"--prefix={NAME}/", "--format=tar", f"--output={tar}",
        checkout.commit,
    )  # fmt: skip
    return tar


def scripts_in(tar: Path) -> dict[str, bytes]:
    """Of the kit's tar the files that the system's layer is made by."""
    parts = re.compile(rf"{NAME}/(numalab|common/(image|setup)/(?!README)[^/]+)")
    with tarfile.open(tar) as archive:
        return {
            member.name: content.read()
            for member in archive
            if parts.fullmatch(member.name) and (content := archive.extractfile(member))
        }


# ---- the system's layer --------------------------------------------------------------------------


def system_key(scripts: Mapping[str, bytes], distribution: Distribution, architecture: str) -> str:
    """What the system's layer is made by, in a number. scripts: by name."""
    digest = hashlib.sha256()
    for name in sorted(scripts):
        digest.update(name.encode() + hashlib.sha256(scripts[name]).digest())
    digest.update(json.dumps([asdict(distribution), architecture], sort_keys=True).encode())
    return digest.hexdigest()[:16]


def kept_layer(file: Path) -> tuple[Layer, str] | None:
    """A layer that an earlier image has left, and when it was made; None where there is none that
    is whole."""
    facts = read_json(file.with_suffix(".json"))
    try:
        layer = Layer(file, facts["size_bytes"], facts["sha256"], facts["diff_sha256"], SYSTEM_BY)
        made_at = str(facts["made_at"])
    except (KeyError, TypeError):
        return None
    try:
        with file.open("rb") as content:
            whole = hashlib.file_digest(content, "sha256").hexdigest() == layer.sha256
    except OSError:
        return None
    return (layer, made_at) if whole else None


def keep_layer(layer: Layer, file: Path, made_at: str) -> Layer:
    """Moves it to file, for later images; those of other packages before it go. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    for other in file.parent.glob("system-*"):
        other.unlink()
    partial = partial_path(file)
    try:
        shutil.move(layer.file, partial)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    facts = {
        "size_bytes": layer.size_bytes, "sha256": layer.sha256, "diff_sha256": layer.diff_sha256,
        "made_at": made_at,
    }  # fmt: skip
    write_json(file.with_suffix(".json"), facts)
    return Layer(file, layer.size_bytes, layer.sha256, layer.diff_sha256, layer.by)


# ---- all together --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """target: the archive; cache: where the system's layer is kept; afresh: whether one that is
    there is passed over."""

    target: Path
    distribution: Distribution
    cache: Path
    afresh: bool


def make(checkout: Checkout, wanted: Wanted, progress: StepReport) -> Made:
    """Makes the image. What is at the target is replaced once the new one is whole. Raises
    UserError and KitError."""
    begun = time.monotonic()
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None:
        raise UserError(f"images are made on {', '.join(ARCHITECTURES)}, not {platform.machine()}")
    debian.check_tools(os.geteuid() == 0)
    with tempfile.TemporaryDirectory(prefix="numalab-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # within a user namespace this is somebody else's
        _check_room(folder)
        tar = _export(checkout, folder)
        certificates = debian.certificates_of(shell_variables.for_numalab())
        environment = debian.environment_of(
            shell_variables.for_numalab(), folder, checkout.time_s, certificates is not None
        )
        file = wanted.cache / (
            f"system-{system_key(scripts_in(tar), wanted.distribution, architecture)}.tar.gz"
        )
        found = None if wanted.afresh else kept_layer(file)
        system = folder / "system.tar"
        if found is None:
            progress("fetching and installing packages, some minutes")
            command = debian.system_command(wanted.distribution, tar, system)
            debian.run(command, environment, _staged("packages", progress))
            progress("compressing packages")
            made = layers.compress(system, folder / "system.tar.gz", SYSTEM_BY)
            today = time.strftime("%Y-%m-%d", time.gmtime())
            system_layer, kept = keep_layer(made, file, today), None
        else:
            system_layer, kept = found
            progress(f"unpacking the packages that were fetched on {kept}")
            layers.decompress(system_layer.file, system)
        home = folder / "home.tar"
        progress("setting the kit up in them, some minutes")
        command = debian.kit_command(wanted.distribution, system, tar, certificates, home)
        debian.run(command, environment, _staged("the kit", progress))
        system.unlink()
        progress("compressing the kit")
        ordered = folder / "ordered.tar"
        layers.put_in_order(home, ordered, debian.HOME_IS_IN, checkout.time_s)
        kit_layer = layers.compress(ordered, folder / "kit.tar.gz", KIT_BY)
        progress("writing the archive")
        settings = settings_of(labels_of(checkout, wanted.distribution.suite))
        image = Image(
            NAME, numalab.__version__, architecture, checkout.time_s, settings,
            [system_layer, kit_layer],
        )  # fmt: skip
        partial = partial_path(wanted.target)
        try:
            write_archive(image, partial)
            partial.replace(wanted.target)
        finally:
            partial.unlink(missing_ok=True)
    size_bytes = wanted.target.stat().st_size
    return Made(wanted.target, size_bytes, time.monotonic() - begun, kept)


def _staged(stage: str, progress: StepReport) -> Callable[[str], None]:
    return lambda step: progress(f"{stage}: {step}")


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < TEMPORARY_BYTES:
        raise UserError(
            f"an image takes up to {amount(TEMPORARY_BYTES)} of temporary files, and "
            f"{folder.parent} has {amount(free)} left. Set TMPDIR to a folder with more."
        )
