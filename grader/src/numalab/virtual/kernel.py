"""The Linux kernel of virtual machines: find one, or fetch a package without installing it, and
keep what a guest needs of it (the kernel itself and a few modules).

A kernel with a PVH entry (Xen's note in its ELF file) is kept uncompressed, to be started through
that, which saves its decompression under emulation.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import platform
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import zstandard

from numalab.errors import NumalabError, UserError
from numalab.file_systems.room import cache_place, shortage
from numalab.files import read_json
from numalab.processes import shell_variables, starting
from numalab.words import StepReport

# Modules that each guest needs; modules that these need are read from their files.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "virtio_console")
# Modules of a cluster's nodes, for their network cards and for captures in a node.
NETWORK_MODULES = ("virtio_net", "e1000", "af_packet")
PREPARED_VERSION = 3  # of the content of a kept kernel's folder
FETCH_LIMIT_S = 900
_DAMAGED = (lzma.LZMAError, zstandard.ZstdError, zlib.error, OSError, ValueError, EOFError)
OTHER_KERNEL = (
    "Name a kernel with --guest-kernel FILE: a vmlinuz whose modules lie in "
    "/lib/modules/VERSION, or in the same unpacked package."
)


@dataclass(frozen=True)
class GuestKernel:
    """A kept kernel.

    Attributes:
        version: its release, as `uname -r` prints it.
        image: the file that QEMU starts.
        is_pvh: whether the image is uncompressed and has a PVH entry.
        modules: files in the order in which they are to be loaded.
        network_modules: the same, for a node of a cluster, after those.
        network: which of NETWORK_MODULES it has, as modules or built in.
    """

    version: str
    image: Path
    is_pvh: bool
    modules: tuple[Path, ...]
    network_modules: tuple[Path, ...] = ()
    network: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The name of its folder, which depends on the kernel and its modules."""
        return self.image.parent.name


# ---- reading kernels ---------------------------------------------------------------


def read_version(image: bytes) -> str | None:
    """Return the release of a bzImage; None where the image is none or names none."""
    if len(image) < 0x260 or image[0x202:0x206] != b"HdrS":
        return None
    (offset,) = struct.unpack_from("<H", image, 0x20E)
    text, _, _ = image[offset + 0x200 : offset + 0x300].partition(b"\0")
    release, _, _ = text.decode("ascii", "replace").partition(" ")
    return release or None


def payload(image: bytes) -> bytes:
    """Return the compressed kernel within a bzImage (Linux: Documentation/arch/x86/boot.rst)."""
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    return image[start : start + length]


def decompress(data: bytes) -> bytes:
    """Decompress a kernel or a module; what is in no known format is returned as it is. Raises
    NumalabError where data are damaged, and UserError for LZ4 and LZO."""
    try:
        if data[:6] == b"\xfd7zXZ\0" or data[:3] == b"\x5d\0\0":
            return _first_stream(lzma.LZMADecompressor(), data)
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:3] == b"BZh":
            return bz2.decompress(data)
        if data[:4] == b"\x28\xb5\x2f\xfd":
            return _first_stream(zstandard.ZstdDecompressor().decompressobj(), data)
    except _DAMAGED as error:
        raise NumalabError(f"the guest's kernel can't be decompressed: {error}") from error
    if data[:4] in (b"\x02\x21\x4c\x18", b"\x89LZO"):
        raise UserError(
            f"the kernel is compressed with LZ4 or LZO, which numalab can't read. {OTHER_KERNEL}"
        )
    return data


def _first_stream(
    reader: lzma.LZMADecompressor | zstandard.ZstdDecompressionObj, data: bytes
) -> bytes:
    """Decompress the first stream of data, which in kernels is followed by other data."""
    content = reader.decompress(data)
    if not reader.eof:
        raise EOFError("its end is missing")
    return content


def has_pvh_entry(image: bytes) -> bool:
    """Tell whether a 64-bit ELF file has Xen's note of type 18, the physical 32-bit entry (PVH);
    False of anything else. Raises struct.error where the file is cut off."""
    if image[:5] != b"\x7fELF\x02":
        return False
    offset, size, count = (
        *struct.unpack_from("<Q", image, 0x20),
        *struct.unpack_from("<HH", image, 0x36),
    )
    for number in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", image, offset + number * size)
        at, end = start, start + length
        while kind == 4 and at + 16 <= end:  # with the four bytes of Xen's name
            name_bytes, value_bytes, note = struct.unpack_from("<III", image, at)
            if note == 18 and image[at + 12 : at + 15] == b"Xen":
                return True
            at += 12 + (name_bytes + 3) // 4 * 4 + (value_bytes + 3) // 4 * 4
    return False


def module_name(path: str) -> str:
    """Return the name by which modules refer to each other, from a file's path."""
    return PurePosixPath(path).name.split(".ko")[0].replace("-", "_")


def dependencies(module: bytes) -> tuple[str, ...]:
    """Return the names of the modules that a module needs, with '_' for '-'."""
    match = re.search(rb"(?:^|\0)depends=([\w,\-]*)\0", module)
    names = match.group(1).decode().split(",") if match else []
    return tuple(name.replace("-", "_") for name in names if name)


@dataclass(frozen=True)
class Modules:
    """The modules that guests need, and a cluster's nodes besides (network): contents by name, each
    after those that it needs. drivers: which of NETWORK_MODULES there are, or are built in."""

    base: Mapping[str, bytes]
    network: Mapping[str, bytes]
    drivers: tuple[str, ...]


def find_modules(
    read: Callable[[str], bytes], files: Mapping[str, str], builtin: Sequence[str], version: str
) -> Modules:
    """Return the modules that guests need; for arguments and errors see load_order. Those for the
    network may be missing."""
    base = load_order(read, files, builtin, version)
    network: dict[str, bytes] = {}
    found = []
    for name in NETWORK_MODULES:
        with suppress(UserError):
            network |= load_order(read, files, [*builtin, *base, *network], version, [name])
            found.append(name)
    return Modules(base, network, tuple(found))


def load_order(
    read: Callable[[str], bytes],
    files: Mapping[str, str],
    builtin: Iterable[str],
    version: str,
    names: Sequence[str] = MODULES,
) -> dict[str, bytes]:
    """Return modules by name, decompressed, each after those that it needs.

    Args:
        read: returns the content of a path.
        files: paths by the module's name.
        builtin: names of the modules that are built into the kernel; they are left out.
        version: of the kernel, for messages.
        names: of the modules that are needed.

    Raises UserError where one is missing, and as `decompress` and `read`.
    """
    compiled_in = set(builtin)
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in order or name in compiled_in:
            return
        if name not in files:
            raise UserError(
                f"the kernel {version} has no module {name}, which the guest needs to see "
                f"the host's files. {OTHER_KERNEL}"
            )
        content = decompress(read(files[name]))
        for needed in dependencies(content):
            add(needed)
        order[name] = content

    for name in names:
        add(name)
    return order


# ---- the store -----------------------------------------------------------------------


def _prepare(store: Path, version: str, image: bytes, modules: Modules) -> GuestKernel:
    """Keep a kernel in a folder of the store that is named by its release and content, unless that
    is there, and return it."""
    try:
        unpacked = decompress(payload(image))
        is_pvh = has_pvh_entry(unpacked)
    except struct.error as error:
        raise NumalabError(f"the kernel {version} is damaged: {error}") from error
    content = unpacked if is_pvh else image
    digest = hashlib.sha256(content)
    files = {**modules.base, **modules.network}
    for name, module in files.items():
        digest.update(name.encode() + module)
    final = store / f"{version}-{digest.hexdigest()[:12]}-{PREPARED_VERSION}"
    if not final.is_dir():
        store.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=store) as name:
            folder = Path(name) / "kernel"
            folder.mkdir()
            (folder / "image").write_bytes(content)
            for file, data in files.items():
                (folder / f"{file}.ko").write_bytes(data)
            facts = {
                "prepared_version": PREPARED_VERSION,
                "version": version,
                "is_pvh": is_pvh,
                "modules": list(modules.base),
                "network_modules": list(modules.network),
                "network": list(modules.drivers),
            }
            (folder / "kernel.json").write_text(json.dumps(facts, indent=2) + "\n")
            try:
                folder.rename(final)
            except OSError:
                if not final.is_dir():  # else another command was faster
                    raise
    kernel = _load(final)
    if kernel is None:
        raise NumalabError(f"{final} is damaged; remove it, then try again")
    return kernel


def _load(folder: Path) -> GuestKernel | None:
    """Return a kernel of the store; None where it is damaged, or kept with another
    PREPARED_VERSION."""
    facts = read_json(folder / "kernel.json")
    if not isinstance(facts, dict) or facts.get("prepared_version") != PREPARED_VERSION:
        return None

    def paths(names: Sequence[str]) -> tuple[Path, ...]:
        return tuple(folder / f"{name}.ko" for name in names)

    try:
        kernel = GuestKernel(
            facts["version"],
            folder / "image",
            facts["is_pvh"],
            paths(facts["modules"]),
            paths(facts["network_modules"]),
            tuple(facts["network"]),
        )
    except (KeyError, TypeError):
        return None
    files = (kernel.image, *kernel.modules, *kernel.network_modules)
    return kernel if all(map(Path.is_file, files)) else None


# ---- where kernels come from -----------------------------------------------------------


def _modules_in(folder: Path, version: str) -> Modules:
    """Return the modules that guests need, from a folder like /lib/modules/VERSION."""
    if not folder.is_dir():
        raise UserError(
            f"the modules of the kernel {version} are not there: {folder}. {OTHER_KERNEL}"
        )
    files = {module_name(path.name): str(path) for path in folder.rglob("*.ko*") if path.is_file()}
    listed = folder / "modules.builtin"
    builtin = [module_name(line) for line in listed.read_text().split()] if listed.is_file() else []
    return find_modules(lambda path: Path(path).read_bytes(), files, builtin, version)


def prepare_named(store: Path, path: Path) -> GuestKernel:
    """Return the kernel that --guest-kernel names, kept in the store. Raises UserError where it
    can't be read, is no bzImage, or lacks modules, and NumalabError where it is damaged."""
    try:
        image = path.read_bytes()
    except OSError as error:
        raise UserError(f"--guest-kernel {path}: {error.strerror}") from error
    version = read_version(image)
    if version is None:
        raise UserError(f"--guest-kernel {path} is no Linux kernel for x86 (a vmlinuz, bzImage)")
    beside = path.resolve().parent.parent / "lib" / "modules" / version
    modules = beside if beside.is_dir() else Path("/lib/modules") / version
    return _prepare(store, version, image, _modules_in(modules, version))


def _version_key(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name))


def _installed(store: Path) -> GuestKernel | None:
    """Keep and return the newest kernel in /boot that may be read and has what a guest needs; None:
    none has, or none can be kept."""
    images = sorted(
        Path("/boot").glob("vmlinuz-*"), key=lambda path: _version_key(path.name), reverse=True
    )
    for image in images:
        if os.access(image, os.R_OK):
            try:
                return prepare_named(store, image)
            except (UserError, NumalabError, OSError, struct.error):
                continue
    return None


def _run(command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    try:
        return starting.run(
            command, shell_variables.builder_environment(), cwd=cwd, limit_s=FETCH_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise NumalabError(f"{' '.join(command)} did not end within {FETCH_LIMIT_S} s") from error


def _package_names(cwd: Path, lists: Sequence[str]) -> list[list[str]]:
    """Return the packages to try, in order, in lists of packages that belong together, as apt knows
    them; empty where it knows none. lists: options of apt for other package lists than the
    system's."""
    for meta in ("linux-image-amd64", "linux-image-generic"):
        shown = _run(["apt-cache", *lists, "depends", meta], cwd).stdout
        images = re.findall(r"Depends: (linux-image-\S+)", shown)
        for image in images:
            release = re.sub(r"^linux-image-(unsigned-)?", "", image)
            if meta == "linux-image-amd64":
                return [[image]]
            modules = f"linux-modules-{release}"
            return [[image, modules], [image, modules, f"linux-modules-extra-{release}"]]
    return []


def _needed_members(packages: Sequence[Path]) -> dict[str, bytes]:
    """Return the contents of kernels, modules that guests may need and lists of built-in modules,
    by their paths in the packages."""
    kept: dict[str, bytes] = {}
    pattern = re.compile(
        r"(/boot/vmlinuz-[^/]+|/modules\.builtin|/kernel/(drivers/(virtio|char)|net/9p|fs)/.*"
        r"\.ko(\.\w+)?|/(virtio_net|net_failover|failover|e1000|af_packet)\.ko(\.\w+)?)$"
    )
    for package in packages:
        command = ["dpkg-deb", "--fsys-tarfile", str(package)]
        environment = shell_variables.observer_environment()
        with starting.start(command, environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                    for member in archive:
                        if member.isfile() and pattern.search(member.name):
                            file = archive.extractfile(member)
                            kept[member.name] = file.read() if file else b""
            except tarfile.TarError as error:
                raise NumalabError(
                    f"the package {package.name} can't be unpacked: {error}"
                ) from error
    return kept


def _prepare_packages(store: Path, packages: Sequence[Path]) -> GuestKernel:
    members = _needed_members(packages)
    images = [data for name, data in members.items() if "/boot/vmlinuz-" in name]
    version = read_version(images[0]) if images else None
    if version is None:
        raise NumalabError(f"{packages[0].name} holds no kernel")
    files = {module_name(name): name for name in members if ".ko" in PurePosixPath(name).name}
    lists = [data.decode() for name, data in members.items() if name.endswith("modules.builtin")]
    builtin = [module_name(line) for text in lists for line in text.split()]
    modules = find_modules(members.__getitem__, files, builtin, version)
    return _prepare(store, version, images[0], modules)


NO_KERNEL = "there is no kernel to boot a virtual node with: "


def _own_lists(folder: Path) -> list[str]:
    """Make folders for apt's package lists and cache below a folder, and return the options by
    which apt uses them."""
    (folder / "lists").mkdir()
    (folder / "cache").mkdir()
    return ["-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]


def _fetched(store: Path, progress: StepReport) -> GuestKernel:
    """Download a kernel's packages by apt, keep what is needed of them, and return the kernel.
    Where apt knows no such package, its lists are updated: the system's by root, else own ones."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise UserError(
            NO_KERNEL + "none in /boot can be read or has the 9p modules, and without apt none "
            f"can be fetched. {OTHER_KERNEL}"
        )
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=store) as name:
        folder = Path(name)
        lists: list[str] = []
        candidates = _package_names(folder, lists)
        if not candidates:
            progress("fetching package lists")
            if os.geteuid() != 0:  # only root may update the system's
                lists = _own_lists(folder)
            _run(["apt-get", *lists, "update"], folder)
            candidates = _package_names(folder, lists)
        if not candidates:
            raise UserError(
                NO_KERNEL + "apt knows no package linux-image-amd64 or linux-image-generic. "
                "Is there a network? Else try: sudo apt-get update"
            )
        trouble: Exception = NumalabError(NO_KERNEL)
        for names in candidates:
            progress(f"fetching a kernel for virtual nodes, once ({names[0]})")
            # apt's own user can't write here, of which it warns.
            done = _run(
                ["apt-get", *lists, "download", "-o", "APT::Sandbox::User=root", *names], folder
            )
            if done.returncode != 0:
                last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
                trouble = UserError(
                    f"{NO_KERNEL}apt-get download {' '.join(names)}: {last}. Is there a network? "
                    f"{OTHER_KERNEL}"
                )
                continue
            progress("unpacking the kernel")
            try:
                return _prepare_packages(store, sorted(folder.glob("*.deb")))
            except (UserError, NumalabError) as error:
                trouble = error
        short = shortage(cache_place(store))
        if short:
            raise NumalabError(short) from trouble
        raise trouble


def find_kernel(
    store: Path, given: Path | None, progress: StepReport, installed: Path | None = None
) -> GuestKernel:
    """Return the kernel that is given, else the newest kept one by its release, else the newest
    usable one in /boot, else a fetched one.

    Args:
        store: the user's folder of kept ones.
        given: the file of --guest-kernel; None: the option is not given.
        installed: a further folder of kept ones, which is only read; None: there is none.

    Raises UserError or NumalabError where there is none or this machine is no x86-64.
    """
    if platform.machine() != "x86_64":
        raise UserError(
            f"virtual nodes need an x86-64 host, since they run the host's programs; this is "
            f"{platform.machine()}"
        )
    if given is not None:
        return prepare_named(store / "given", given)  # apart: later calls without it don't use it
    stores = [store] if installed is None else [store, installed]
    folders = [path for folder in stores for path in folder.glob("[0-9]*") if path.is_dir()]
    for folder in sorted(folders, key=lambda path: _version_key(path.name), reverse=True):
        kernel = _load(folder)
        if kernel is not None:
            return kernel
    return _installed(store) or _fetched(store, progress)
