"""Entries of folders and archives: names that are safe, what is never looked into, and limits that
are counted while reading."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.deliveries import tar_bytes, zip_bytes
from support.golden_texts import check_text, raises_text

from numalab.course.intake import archives, trees
from numalab.course.intake.archives import (
    COLLECTION_LIMITS,
    READER,
    STUDENT_LIMITS,
    ForeignArchive,
    archive_suffix,
    copy_to_file,
    read_archive,
    strip_suffix,
)
from numalab.course.intake.foreign_archives import (
    SUFFIX_KINDS,
    commands_for,
    explain_kind,
    kind_by_head,
)
from numalab.course.intake.trees import (
    Entry,
    Refused,
    folded,
    is_ignored,
    last_part,
    plain_file,
    read_limited,
    safe_path,
    walk_folder,
)
from numalab.files import MIB
from numalab.untrusted.archives import CLOSE, Member
from numalab.untrusted.reader_pool import ReaderPool

# ---- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b.c", ("a", "b.c")), ("./a//b/", ("a", "b")), ("a\\b", ("a", "b")),
        ("e\u0301", ("\u00e9",)), ("a:b", ("a:b",)), ("a/c:", ("a", "c:")), ("ab:/c", ("ab:", "c")),
        ("x:y/z", ("x:y", "z")), ("...", ("...",)), ("/".join("a" * 16), tuple("a" * 16)),
        ("x" * 255, ("x" * 255,)), ("\u00e9" * 127, ("\u00e9" * 127,)),
        ("/".join(["x" * 255] * 15 + ["y" * 255]), ("x" * 255,) * 15 + ("y" * 255,)),
    ],
)  # fmt: skip
def test_paths_of_archives(name: str, parts: tuple[str, ...]) -> None:
    assert safe_path(name) == parts


@pytest.mark.parametrize(
    "name",
    [
        "/a", "\\a",
        "c:/a", "c:",
        "../a", "a/../b", "..",
        "", "./.", "/".join("a" * 17),
        "x" * 256, "\u00e9" * 128,
        "./" * 2049,
    ],
)  # fmt: skip
def test_paths_that_are_refused(name: str) -> None:
    with raises_text(Refused):
        safe_path(name)


def test_a_path_may_have_as_many_bytes_as_linux_takes() -> None:
    assert safe_path("./" * 2047 + "ab") == ("ab",)
    with raises_text(Refused):
        safe_path("./" * 2047 + "abc")


@pytest.mark.parametrize(
    ("name", "last"),
    [("/a/b", "b"), ("..\\b\\", "b"), ("b", "b"), ("/", "?"), ("", "?"),
     ("a/" + "x" * 300, "x" * 255)],
)  # fmt: skip
def test_what_is_told_of_a_refused_path(name: str, last: str) -> None:
    assert last_part(name) == last


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("kernel.c", False), ("._kernel.c", True), ("a/._x", True), ("._a/x", False),
        (".DS_Store", True), ("a/Thumbs.DB", True), (".ds_store/a", False),
        ("__MACOSX", True), ("__MacOSX/a/b", True), ("a/__pycache__/b", True),
        (".git", False), (".git/HEAD", True), ("a/.git/b/c", True), (".Git/a", False),
        (".ipynb_checkpoints/a", True), ("desktop.ini", True), ("build/a", False),
    ],
)  # fmt: skip
def test_what_nobody_has_meant_to_hand_in(path: str, ignored: bool) -> None:
    assert is_ignored(tuple(path.split("/"))) == ignored


def test_names_that_people_take_for_the_same() -> None:
    assert (
        folded("  Jose\u0301  STRASSE ") == folded("jos\u00e9 stra\u00dfe") == "jos\u00e9 strasse"
    )


# ---- folders ---------------------------------------------------------------------------------


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(name)


def listed(entries: Iterator[Entry]) -> list[tuple[str, str, str]]:
    return [("/".join(one.path), one.kind, one.refused) for one in entries]


def test_a_folder_in_order(tmp_path: Path) -> None:
    put(tmp_path, "b/x", "a.c", "b/a/y", ".DS_Store", "__MACOSX/z", "b/.git/HEAD", "build/k",
        "b/Build/k", "b/node_modules/m/n")  # fmt: skip
    (tmp_path / "b" / "l").symlink_to("x")
    os.mkfifo(tmp_path / "p")
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    found = list(walk_folder(tmp_path))
    assert listed(iter(found)) == [
        ("a.c", "file", ""), ("b", "folder", ""), ("b/.git", "folder", ""),
        ("b/Build", "folder", ""), ("b/a", "folder", ""), ("b/a/y", "file", ""),
        ("b/l", "link", "is a link"), ("b/node_modules", "folder", ""), ("b/x", "file", ""),
        ("build", "folder", ""), ("build/k", "file", ""), ("p", "special", "is no plain file"),
        ("\ufffd", "folder", ""),
    ]  # fmt: skip
    for one in found:
        assert (one.opener is not None) == (one.kind == "file")
        assert (one.folder is not None) == (one.kind == "folder")
    assert found[0].opener is not None
    with found[0].opener() as file:
        assert file.read() == b"a.c"
    assert found[1].folder == tmp_path / "b"


def test_of_each_student_so_many_entries_are_read(tmp_path: Path) -> None:
    put(tmp_path, "a/1", "a/2", "a/3", "b/1", "b/2", "c/1/2/3")
    found = listed(walk_folder(tmp_path, 2))
    why = "lies behind 2 entries, and no more are read"
    assert found == [
        ("a", "folder", ""), ("a/1", "file", ""), ("a/2", "file", ""), ("a/…", "special", why),
        ("b", "folder", ""), ("b/1", "file", ""), ("b/2", "file", ""),
        ("c", "folder", ""), ("c/1", "folder", ""), ("c/1/2", "folder", ""),
        ("c/…", "special", why),
    ]  # fmt: skip
    assert trees.MOST_ENTRIES == 20_000


def test_a_folder_is_looked_into_sixteen_deep(tmp_path: Path) -> None:
    put(tmp_path, "/".join("abcdefghijklmnopqr"))
    *_, last = walk_folder(tmp_path)
    assert last.path == tuple("abcdefghijklmnop") and last.kind == "folder"


def test_a_folder_that_can_not_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a/b/c", "a/d")
    scan = os.scandir

    def scandir(folder: Path) -> Any:
        if folder.name == "b":
            raise PermissionError(13, "Permission denied")
        return scan(folder)

    monkeypatch.setattr(trees.os, "scandir", scandir)
    assert listed(walk_folder(tmp_path)) == [
        ("a", "folder", ""), ("a/b", "folder", ""),
        ("a/b/…", "special", "can't be read: Permission denied"), ("a/d", "file", ""),
    ]  # fmt: skip


def test_what_is_read_is_limited_and_plain(tmp_path: Path) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None and size > 0
            return super().read(min(size, 3))

    assert read_limited(Slow(b"x" * 1024), 1024, "a") == b"x" * 1024
    assert read_limited(Slow(b""), 0, "a") == b""
    for count in (1025, 5000):
        file = Slow(b"x" * count)
        with raises_text(Refused):
            read_limited(file, 1024, "a")
        assert file.tell() == 1025
    with raises_text(Refused):
        plain_file(tmp_path / "x")
    (tmp_path / "l").symlink_to("x")
    with raises_text(Refused):
        plain_file(tmp_path / "l")


# ---- archives --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stem", "suffix"),
    [
        ("a.tar.gz", "a", ".tar.gz"), ("a.TGZ", "a", ".tgz"), ("A.Zip", "A", ".zip"),
        ("a.tar", "a", ".tar"), ("a.tar.zst", "a", ".tar.zst"), ("a.c.gz", "a.c", ".gz"),
        ("a.7z", "a", ".7z"), ("zip", "zip", ""), (".zip", "", ".zip"), ("a.zip.c", "a.zip.c", ""),
    ],
)  # fmt: skip
def test_endings_of_archives(name: str, stem: str, suffix: str) -> None:
    assert (strip_suffix(name), archive_suffix(name)) == (stem, suffix)


def test_limits_of_archives() -> None:
    """A class's hold thousands of students'."""
    for limits, sizes in (
        (STUDENT_LIMITS, (32 * MIB, 5_000, 64 * MIB, 100, 10, 512 * MIB, 64 * MIB)),
        (COLLECTION_LIMITS, (1 << 40, 500_000, 1 << 33, 100, 3_600, 4 << 30, 1 << 33)),
    ):
        reader = limits.reader
        assert sizes == (
            limits.archive_bytes, limits.members, limits.expanded_bytes, limits.ratio,
            reader.computing_s, reader.memory_bytes, reader.file_bytes,
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["zip", "gz", ""])
def test_the_entries_of_an_archive(kind: str) -> None:
    files = {"a/kernel.c": b"int x;\n", "a/.DS_Store": b"", "../b": b"", "e\u0301/": b""}
    packed = zip_bytes(files) if kind == "zip" else tar_bytes(files, kind)
    with ExitStack() as stack:
        readers = stack.enter_context(ReaderPool(READER))
        found = read_archive(io_file(packed, stack), "x", STUDENT_LIMITS, readers, stack)
        assert [(one.path, one.refused) for one in found][:2] == [
            (("a", "kernel.c"), ""), (("b",), "climbs out of the archive")
        ]  # fmt: skip
        assert (found[0].kind, found[1].kind, found[1].opener) == ("file", "special", None)
        assert [one.path for one in found[2:]] == [("\u00e9",)]
        for _ in range(2):
            assert found[0].opener is not None
            with found[0].opener() as file:
                assert (file.read(3), file.read(0), file.read(), file.read()) == (
                    b"int", b" x;\n", b"", b""
                )  # fmt: skip


@pytest.mark.parametrize("kind", ["bz2", "xz", ""])
def test_the_compression_is_no_members_name(kind: str) -> None:
    packed = tar_bytes({"BZh9/kernel.c": b"int x;\n"}, kind)
    with ExitStack() as stack:
        readers = stack.enter_context(ReaderPool(READER))
        (entry,) = read_archive(io_file(packed, stack), "x", STUDENT_LIMITS, readers, stack)
        assert (entry.path, entry.refused) == (("BZh9", "kernel.c"), "")


def io_file(content: bytes, stack: ExitStack) -> Any:
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    file.write(content)
    return file


@pytest.mark.parametrize(
    ("content", "most", "why"),
    [
        (b"x" * 1025, 1024, "x.zip is larger than 1 KiB"),
        (b"", 1024, "x.zip is empty, no byte long"),
        (b"Rar!\x1a\x07\0", 1024, "x.zip is a RAR archive"),
        (b"\x28\xb5\x2f\xfd", 1024, "x.zip is an archive in Zstandard"),
        (b"x" * 1024, 1024, "x.zip "),
    ],
)  # fmt: skip
def test_what_is_no_archive(content: bytes, most: int, why: str) -> None:
    limits = replace(STUDENT_LIMITS, archive_bytes=most)
    with ExitStack() as stack, pytest.raises(Refused) as error:
        readers = stack.enter_context(ReaderPool(READER))
        read_archive(io_file(content, stack), "x.zip", limits, readers, stack)
    assert "larger" not in str(error.value)[len(why) :]
    check_text(str(error.value))
    assert isinstance(error.value, ForeignArchive) == ("RAR" in why or "Zstandard" in why)


class Told:
    """A reader whose member is so many bytes long."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.asked: list[tuple[int, int]] = []

    def ask(self, first: int, second: int) -> None:
        self.asked.append((first, second))

    def answer(self) -> Iterator[bytes]:
        count = min(max(0, self.asked[-1][1]), self.left)
        self.left -= count
        yield b"x" * count


def read_all(size: int, packed_bytes: int, expanded_bytes: int) -> int:
    reading: Any = Told(size)
    limits = replace(STUDENT_LIMITS, expanded_bytes=expanded_bytes)
    archive = archives._Archive(reading, "eve.zip", limits)
    count = 0
    with archives._Stream(archive, 3, Member("d/x", "file", "", packed_bytes)) as stream:
        while data := stream.read(1 << 20):
            count += len(data)
    assert archive.read_bytes == count
    assert reading.asked[0] == (3, 0) and reading.asked[-1] == (3, CLOSE)
    assert {second for _, second in reading.asked[1:-1]} == {1 << 16}
    return count


def test_a_member_may_be_a_mib_or_a_hundred_times_as_large_as_it_is_packed() -> None:
    for size, packed in ((MIB, 0), (MIB, 10_000), (2_000_000, 20_000)):
        assert read_all(size, packed, 64 * MIB) == size
        with raises_text(Refused):
            read_all(size + 1, packed, 64 * MIB)


def test_what_is_read_of_all_members_is_limited() -> None:
    assert read_all(MIB, 20_000, MIB) == MIB
    with raises_text(Refused):
        read_all(MIB + 1, 20_000, MIB)


def test_what_is_copied_is_limited() -> None:
    with ExitStack() as stack:
        source = b"x" * (2 << 16)
        file = copy_to_file(io.BytesIO(source), len(source), "a", stack)
        assert file.seek(0) == 0 and file.read() == source
        with raises_text(Refused):
            copy_to_file(io.BytesIO(source + b"x"), len(source), "a", stack)


# ---- of other kinds --------------------------------------------------------------------------


def test_kinds_are_told_by_their_first_bytes_or_their_endings() -> None:
    assert kind_by_head(b"7z\xbc\xaf\x27\x1c\0\x04") is SUFFIX_KINDS[".7z"] is not None
    assert kind_by_head(b"Rar!\x1a\x07\0") is SUFFIX_KINDS[".rar"]
    assert kind_by_head(b"PK\3\4") is kind_by_head(b"") is SUFFIX_KINDS.get(".zip") is None


def test_commands_for_shells() -> None:
    (rar, gz) = (SUFFIX_KINDS[".rar"], SUFFIX_KINDS[".gz"])
    assert rar is not None and gz is not None
    assert commands_for(rar, "a b.rar", "a b") == {
        "unar -D -o 'a b' 'a b.rar'": "unar",
        "mkdir -p 'a b' && bsdtar -xf 'a b.rar' -C 'a b'": "libarchive-tools",
    }
    assert list(commands_for(gz, "-rf.gz", "x")) == ["gunzip FILE"]
    assert list(commands_for(gz, "a\x1b.gz", "x")) == ["gunzip FILE"]
    check_text(explain_kind(rar, "a.rar", "a"))
    assert "`unar -D -o .rar .rar`" in str(ForeignArchive(".rar", rar))
    check_text(explain_kind(gz, "k.c.gz", "k.c"))
