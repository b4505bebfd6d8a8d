"""Kernels for guests: what is read in them, what is kept of them, and where they come from."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import struct
from pathlib import Path

import pytest
import zstandard
from support.kernels import XEN, big_image, elf, install, module

from numalab.errors import NumalabError, UserError
from numalab.virtual import kernel
from numalab.virtual.kernel import GuestKernel

# ---- reading kernels -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "is_pvh"),
    [
        (elf(XEN), True),
        (elf((1, b"GNU\0", b"12345"), (6, b"Linux", b""), XEN), True),
        (elf(XEN, before=2), True),
        (elf((18, b"Xen\0", b"")), True),  # its 16 bytes are the last of the file
        (elf((17, b"Xen\0", b"1234")), False),
        (elf((18, b"GNU\0", b"1234")), False),
        (elf(XEN, kind=1), False),
        (elf(), False),
        (b"\x7fELF\x01" + elf(XEN)[5:], False),
    ],
)
def test_the_entry_of_xen_is_a_note_of_its_type_and_name(image: bytes, is_pvh: bool) -> None:
    assert kernel.has_pvh_entry(image) is is_pvh


def test_notes_end_with_their_segment() -> None:
    """What follows it is another's, if it looks like a note."""
    image = bytearray(elf((1, b"GNU\0", b"1234"), XEN))
    for size in (20, 32):  # before the note, and before its name
        struct.pack_into("<Q", image, 64 + 32, size)
        assert not kernel.has_pvh_entry(bytes(image))


def test_an_image_tells_its_release_and_holds_the_kernel() -> None:
    image = big_image(b"kernel")
    assert kernel.read_version(image) == "6.1.0-9-amd64"
    assert kernel.payload(image) == b"kernel"
    assert kernel.payload(big_image(b"longer", sectors=30)) == b"longer"
    none_given = bytearray(image)
    none_given[0x1F1] = 0  # boot.rst: 0 stands for 4
    assert kernel.payload(bytes(none_given)) == b"kernel"
    assert kernel.read_version(image[:0x260]) is None, "it ends before the release"
    assert kernel.read_version(b"HdrS" + image[4:0x202] + b"hdrs" + image[0x206:]) is None
    assert kernel.read_version(image[:0x206]) is None
    short = bytearray(image[:0x260])
    struct.pack_into("<H", short, 0x20E, 0x50)
    short[0x250:] = b"6.1 is enough...\0"[:16]
    assert kernel.read_version(bytes(short)) == "6.1"
    assert kernel.read_version(bytes(short[:-1])) is None
    short[0x250] = 0
    assert kernel.read_version(bytes(short)) is None


@pytest.mark.parametrize(
    "packed",
    [
        b"content", lzma.compress(b"content"), lzma.compress(b"content", lzma.FORMAT_ALONE),
        gzip.compress(b"content"), bz2.compress(b"content"),
        zstandard.ZstdCompressor().compress(b"content"),
        lzma.compress(b"content") + b"and what follows in a kernel",
        zstandard.ZstdCompressor().compress(b"content") + b"and what follows in a kernel",
    ],
    ids=["plain", "xz", "lzma", "gzip", "bz2", "zstd", "xz_in_more", "zstd_in_more"],
)  # fmt: skip
def test_what_is_packed_is_unpacked(packed: bytes) -> None:
    assert kernel.decompress(packed) == b"content"


@pytest.mark.parametrize(
    "packed",
    [
        b"\xfd7zXZ\0broken",
        b"\x5d\0\0" + b"\xff" * 30,
        b"\x1f\x8bno",
        b"BZh9no",
        b"\x28\xb5\x2f\xfd" + b"\xff" * 9,
        lzma.compress(b"content")[:-1],
        gzip.compress(b"content")[:-1],
        bz2.compress(b"content")[:-1],
        zstandard.ZstdCompressor().compress(b"content")[:-1],
    ],
    ids=[
        "xz_broken", "lzma_broken", "gzip_broken", "bz2_broken", "zstd_broken", "xz_cut_off",
        "gzip_cut_off", "bz2_cut_off", "zstd_cut_off",
    ],
)  # fmt: skip
def test_what_is_packed_badly_is_told(packed: bytes) -> None:
    with pytest.raises(NumalabError, match=r"^the guest's kernel can't be decompressed: "):
        kernel.decompress(packed)


@pytest.mark.parametrize("start", [b"\x02\x21\x4c\x18", b"\x89LZO"])
def test_what_can_not_be_unpacked_is_told_with_a_way_out(start: bytes) -> None:
    with pytest.raises(UserError, match=r"LZ4 or LZO, which numalab can't read\. Name a kernel"):
        kernel.decompress(start + b"more")


@pytest.mark.parametrize(
    ("path", "name"),
    [("kernel/net/9p/9pnet.ko", "9pnet"), ("a-b/virtio-console.ko.xz", "virtio_console"),
     ("af_packet.ko.zst", "af_packet")],
)  # fmt: skip
def test_a_module_is_called_by_its_file(path: str, name: str) -> None:
    assert kernel.module_name(path) == name


@pytest.mark.parametrize(
    ("content", "needed"),
    [
        (b"ELF\0depends=virtio,virtio-ring\0", ("virtio", "virtio_ring")),
        (b"depends=one\0", ("one",)),
        (b"ELF\0depends=\0name=x\0", ()),
        (b"ELF\0softdepends=no\0", ()),
        (b"ELF", ()),
    ],
)
def test_a_module_says_what_it_needs(content: bytes, needed: tuple[str, ...]) -> None:
    assert kernel.dependencies(content) == needed


def test_a_module_that_several_need_is_read_once() -> None:
    needs = {"a": ("c", "b"), "b": ("c",), "c": ()}
    read: list[str] = []

    def content(path: str) -> bytes:
        read.append(path)
        return module(*needs[path])

    names = {name: name for name in needs}
    found = kernel.load_order(content, names, [], "6.1", ["a", "b"])
    assert (list(found), read) == (["c", "b", "a"], ["a", "c", "b"])


# ---- the store -------------------------------------------------------------------------------


def test_a_kernel_is_kept_by_its_content_with_the_modules_in_their_order(tmp_path: Path) -> None:
    store = tmp_path / "store"
    given = install(tmp_path, "6.1")
    found = kernel.prepare_named(store, given)
    (folder,) = store.iterdir()
    assert folder.name.startswith("6.1-") and folder.name.endswith("-3")
    assert len(folder.name) == len("6.1--3") + 12 and found.fingerprint == folder.name
    names = ("virtio_pci", "9pnet_virtio", "9p", "virtio_console")
    assert found == GuestKernel(
        "6.1", folder / "image", True, tuple(folder / f"{name}.ko" for name in names),
        (folder / "virtio_net.ko", folder / "e1000.ko"), ("virtio_net", "e1000", "af_packet"),
    )  # fmt: skip
    assert (folder / "image").read_bytes() == elf(XEN), "unpacked"
    assert (folder / "9p.ko").read_bytes() == module("9pnet-virtio")
    written = (folder / "kernel.json").stat()
    assert kernel.prepare_named(store, given) == found
    assert (folder / "kernel.json").stat() == written, "what is there stays"
    (tmp_path / "lib/modules/6.1/kernel/9p.ko.gz").unlink()
    (tmp_path / "lib/modules/6.1/kernel/9p.ko").write_bytes(module())
    other = kernel.prepare_named(store, given)
    assert other.fingerprint != folder.name and len(list(store.iterdir())) == 2


def test_a_kernel_without_xens_entry_is_kept_packed(tmp_path: Path) -> None:
    given = install(tmp_path, "6.1", b"no ELF file")
    found = kernel.prepare_named(tmp_path / "store", given)
    assert not found.is_pvh
    assert found.image.read_bytes() == given.read_bytes()


def test_a_kernel_that_another_command_keeps_meanwhile_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, store = install(tmp_path, "6.1"), tmp_path / "store"
    rename = Path.rename

    def both(path: Path, target: Path) -> Path:
        shutil.copytree(path, target)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", both)
        found = kernel.prepare_named(store, given)
    assert [folder.name for folder in store.iterdir()] == [found.fingerprint]

    def full(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    shutil.rmtree(store)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        kernel.prepare_named(store, given)
    assert list(store.iterdir()) == []


def test_a_kept_kernel_that_can_not_be_read_is_damaged(tmp_path: Path) -> None:
    given, store = install(tmp_path, "6.1"), tmp_path / "store"
    folder = kernel.prepare_named(store, given).image.parent
    facts = json.loads((folder / "kernel.json").read_text())
    assert list(facts.values())[:3] == [3, "6.1", True]
    lacking = {key: value for key, value in facts.items() if key != "modules"}
    texts = ["{", "{}", "[]", "\xff"]
    texts += map(json.dumps, (facts | {"prepared_version": 2}, lacking, facts | {"network": 7}))
    for text in texts:
        (folder / "kernel.json").write_text(text, encoding="latin-1")
        with pytest.raises(NumalabError, match=f"{folder} is damaged; remove it"):
            kernel.prepare_named(store, given)
    (folder / "kernel.json").write_text(json.dumps(facts))
    (folder / "image").unlink()
    with pytest.raises(NumalabError, match="damaged"):
        kernel.prepare_named(store, given)


# ---- what guests need, and what is refused ----------------------------------------------------


def order(files: dict[str, bytes], builtin: tuple[str, ...] = ()) -> list[str]:
    names = {kernel.module_name(path): path for path in files}
    return list(kernel.load_order(files.__getitem__, names, builtin, "6.1"))


def test_modules_come_after_those_that_they_need() -> None:
    files = {
        "net/9p/9pnet.ko": module(),
        "net/9p/9pnet_virtio.ko.xz": lzma.compress(module("9pnet", "virtio-ring")),
        "fs/9p/9p.ko.gz": gzip.compress(module("9pnet")),
        "virtio_ring.ko": module(),
        "virtio-console.ko": module("virtio_ring"),
    }
    found = order(files, builtin=("virtio_pci",))
    assert found.index("virtio_ring") < found.index("9pnet_virtio") < found.index("9p")
    assert set(found) == {"9pnet", "9pnet_virtio", "virtio_ring", "9p", "virtio_console"}


def test_a_kernel_without_9p_is_refused_with_advice() -> None:
    with pytest.raises(UserError, match=r"no module 9pnet_virtio.*--guest-kernel FILE"):
        order({}, builtin=("virtio_pci",))


def test_what_is_no_kernel_is_said_to_be_none(tmp_path: Path) -> None:
    junk = tmp_path / "vmlinuz"
    junk.write_bytes(b"x" * 4096)
    with pytest.raises(UserError, match="no Linux kernel"):
        kernel.prepare_named(tmp_path, junk)
    with pytest.raises(UserError, match="No such file"):
        kernel.prepare_named(tmp_path, tmp_path / "none")
    assert not kernel.has_pvh_entry(b"x" * 4096)
    with pytest.raises(NumalabError, match="decompressed"):
        kernel.decompress(b"\xfd7zXZ\0broken")


def test_a_damaged_kept_kernel_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "6.1-0000").mkdir()
    (tmp_path / "6.1-0000" / "kernel.json").write_text("{")
    monkeypatch.setattr(kernel, "_installed", lambda store: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"without apt none.*--guest-kernel"):
        kernel.find_kernel(tmp_path, None, print)
