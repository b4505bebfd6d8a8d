"""Hand-ins that are made to do harm, or broken: nothing is written but what is graded, nobody else
is troubled, and the student is told."""

from __future__ import annotations

import io
import os
import random
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.deliveries import Files, put, tar_bytes, zip_bytes
from support.golden_texts import check_text, raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.intake import archives, intake
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.taking import FILE_BYTES, graded_names
from numalab.course.intake.trees import Refused
from numalab.course.records import Intake
from numalab.files import MIB
from numalab.labs.declaration import Lab
from numalab.untrusted.archives import Member
from numalab.untrusted.reader_server import Unreadable
from numalab.untrusted.visible import shown

KERNEL = b"void initialize(void) {}\n"
FIRST = "01_first_touch"
BOMB = bytes(8 * MIB)


class Desk:
    """A delivery of one hostile student, eve, and an honest one, ada."""

    def __init__(self, folder: Path, lab: Lab) -> None:
        self.delivery, self.course = folder / "delivery", CourseFolder(folder / "course")
        self.lab = lab
        put(self.delivery, {"ada/kernel.c": KERNEL})

    def take(self) -> Intake:
        """Looks at once whether anything is there that should not be."""
        intake = import_submissions(self.delivery, self.course, {FIRST: self.lab}, lambda _: None)
        assert "ada" in {one.student.id for one in intake.submissions}
        everything = {"intake.json", "students.json", *graded_names(self.lab)}
        for path in self.course.root.rglob("*"):
            assert not path.is_symlink()
            assert path.is_dir() or path.name in everything
            assert path.is_dir() or stat.S_IMODE(path.stat().st_mode) & 0o111 == 0
        return intake

    def archive(self, packed: bytes, suffix: str) -> Intake:
        (self.delivery / f"eve{suffix}").write_bytes(packed)
        return self.take()


@pytest.fixture
def desk(tmp_path: Path, first_touch: Lab) -> Iterator[Desk]:
    outside = {path.name for path in tmp_path.parent.iterdir()}
    yield Desk(tmp_path, first_touch)
    assert {path.name for path in tmp_path.iterdir()} <= {"delivery", "course"}
    assert {path.name for path in tmp_path.parent.iterdir()} == outside


def why(intake: Intake) -> str:
    """The one problem, which is eve's; she has handed nothing in."""
    (problem,) = intake.problems
    assert problem.student is not None
    assert problem.student.id == "eve"
    assert "eve" not in {one.student.id for one in intake.submissions}
    return problem.why


def notes(intake: Intake) -> str:
    """Of what was taken of eve's."""
    (found,) = [one for one in intake.submissions if one.student.id == "eve"]
    assert not intake.problems
    return " ".join(found.notes)


def tar_of(*members: tarfile.TarInfo) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    return packed.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


# ---- paths and kinds -------------------------------------------------------------------------

CLIMBING = ("../kernel.c", "a/../../kernel.c", "..\\kernel.c", "\\..\\kernel.c")
ABSOLUTE = ("/kernel.c", "C:\\kernel.c", "c:/x/kernel.c", "//host/kernel.c")


@pytest.mark.parametrize("name", CLIMBING + ABSOLUTE)
@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_paths_out_of_the_archive(desk: Desk, name: str, suffix: str) -> None:
    pack = zip_bytes if suffix == ".zip" else tar_bytes
    said = why(desk.archive(pack({name: b"bad"}), suffix))
    assert "kernel.c" in said
    is_absolute = name in ABSOLUTE or name.startswith("\\")
    reason = "has an absolute path" if is_absolute else "climbs out of the archive"
    assert reason in said
    # Where there are several labs, and beside an honest file, which is taken.
    course = CourseFolder(desk.course.root.parent / "other" / "course")
    many = {FIRST: desk.lab, "09_x": replace(desk.lab, name="09_x")}
    assert reason in import_submissions(desk.delivery, course, many, lambda _: None).problems[1].why
    shutil.rmtree(course.root.parent)
    both = desk.archive(pack({name: b"bad", "01_first_touch/kernel.c": KERNEL}), suffix)
    (taken,) = [one for one in both.submissions if one.student.id == "eve"]
    folder = desk.course.submission("eve", FIRST, taken.digest)
    assert (folder / FIRST / "kernel.c").read_bytes() == KERNEL
    check_text(" ".join(taken.notes))


@pytest.mark.parametrize(
    "info",
    [
        member("kernel.c", tarfile.SYMTYPE, "/etc/passwd"),
        member("kernel.c", tarfile.SYMTYPE, "../ada/kernel.c"),
        member("kernel.c", tarfile.LNKTYPE, "/etc/passwd"),
        member("kernel.c", tarfile.CHRTYPE),
        member("kernel.c", tarfile.BLKTYPE),
        member("kernel.c", tarfile.FIFOTYPE),
    ],
    ids=["symlink", "relative", "hardlink", "character", "block", "fifo"],
)
def test_what_is_no_file_in_a_tar(desk: Desk, info: tarfile.TarInfo) -> None:
    said = why(desk.archive(tar_of(info), ".tar.gz"))
    assert "kernel.c is a link" in said or "kernel.c is no plain file" in said


def test_a_folder_that_is_a_link(desk: Desk) -> None:
    """What comes after it would be written through it, if anything were unpacked."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(member(FIRST, tarfile.SYMTYPE, "/tmp"))
        info = member(f"{FIRST}/kernel.c")
        info.size = len(KERNEL)
        archive.addfile(info, io.BytesIO(KERNEL))
    assert notes(desk.archive(packed.getvalue(), ".tar")).count("kernel.c") == 0


def test_a_link_in_a_zip(desk: Desk) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("kernel.c")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    check_text(why(desk.archive(packed.getvalue(), ".zip")))


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_pipes_and_devices_in_a_zip(desk: Desk, kind: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        info = zipfile.ZipInfo("kernel.c")
        info.external_attr = (kind | 0o666) << 16
        archive.writestr(info, KERNEL)
    check_text(why(desk.archive(packed.getvalue(), ".zip")))


def test_links_and_pipes_in_a_folder(desk: Desk) -> None:
    folder = put(desk.delivery / "eve", {"notes.txt": b""})
    (folder / "kernel.c").symlink_to(desk.delivery / "ada" / "kernel.c")
    os.mkfifo(folder / "kernel.f90")
    (folder / FIRST).symlink_to(desk.delivery / "ada")
    said = why(desk.take())
    check_text(said)


def test_links_in_place_of_a_student(desk: Desk) -> None:
    (desk.delivery / "eve").symlink_to(desk.delivery / "ada")
    (desk.delivery / "mallory.zip").symlink_to("/etc/passwd")
    found = desk.take()
    assert [(one.source, one.why) for one in found.problems] == [
        ("eve", "eve is a link."), ("mallory.zip", "mallory.zip is a link."),
    ]  # fmt: skip


# ---- too much ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz", ".tar.xz", ".tar.bz2"])
def test_a_bomb_of_the_file_that_is_graded(desk: Desk, suffix: str) -> None:
    pack = zip_bytes if suffix == ".zip" else lambda files: tar_bytes(files, suffix[5:])
    said = why(desk.archive(pack({"kernel.c": BOMB}), suffix))
    assert "larger than 1 MiB" in said or "expands to more than" in said


def test_a_bomb_beside_it(desk: Desk) -> None:
    """A zip's other members are not read at all; a compressed tar can't be read without."""
    files = {"kernel.c": KERNEL, "film.raw": BOMB}
    assert "film.raw" in notes(desk.archive(zip_bytes(files), ".zip"))
    (desk.delivery / "eve.zip").unlink()
    check_text(why(desk.archive(tar_bytes(files), ".tar.gz")))


def test_a_bomb_in_the_classes_archive(desk: Desk, tmp_path: Path) -> None:
    """What the course's system has packed holds a student's file of nothing but zeros."""
    shutil.rmtree(desk.delivery)
    desk.delivery = tmp_path / "delivery" / "class.zip"
    desk.delivery.parent.mkdir()
    desk.delivery.write_bytes(zip_bytes({"ada/kernel.c": KERNEL, "eve.tar": BOMB}))
    check_text(why(desk.take()))


def test_a_bomb_whose_header_lies(desk: Desk) -> None:
    """The size in the zip's directory says 10 bytes."""
    packed = bytearray(zip_bytes({"kernel.c": bytes(2 * FILE_BYTES)}))
    struct.pack_into("<L", packed, packed.rindex(b"PK\1\2") + 24, 10)
    said = why(desk.archive(bytes(packed), ".zip"))
    assert "damaged" in said or "larger" in said


def test_a_bomb_in_a_bomb(desk: Desk) -> None:
    inner = zip_bytes({"kernel.c": BOMB})
    for _ in range(3):
        inner = zip_bytes({"kernel.zip": inner, "01_first_touch/kernel.zip": inner})
    said = why(desk.archive(inner, ".zip"))
    check_text(said)


@pytest.mark.parametrize("spare", [0, -1])
def test_what_is_read_of_a_hand_in_is_limited_in_all(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    limits = replace(intake.STUDENT_LIMITS, expanded_bytes=len(KERNEL) + spare)
    monkeypatch.setattr(intake, "STUDENT_LIMITS", limits)
    taken = desk.archive(zip_bytes({"kernel.c": KERNEL}), ".zip")
    if spare < 0:
        check_text(why(taken))
    else:
        assert "eve" in {one.student.id for one in taken.submissions}


def test_many_members(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "STUDENT_LIMITS", replace(intake.STUDENT_LIMITS, members=300))
    many: Files = {f"{number}": b"" for number in range(301)}
    said = "more than 300 members"
    assert said in why(desk.archive(zip_bytes(many), ".zip"))
    (desk.delivery / "eve.zip").unlink()
    assert said in why(desk.archive(tar_bytes(many), ".tar.gz"))


def test_a_directory_that_says_it_is_huge(desk: Desk) -> None:
    packed = bytearray(zip_bytes({"kernel.c": KERNEL}))
    struct.pack_into("<L", packed, packed.rindex(b"PK\5\6") + 12, 1 << 31)
    assert "members" in why(desk.archive(bytes(packed), ".zip"))
    packed = bytearray(zip_bytes({"kernel.c": KERNEL}))
    end = packed.rindex(b"PK\5\6")
    packed[end:end] = (
        b"PK\6\6" + bytes(36) + struct.pack("<Q", 1 << 40) + bytes(8) + b"PK\6\7" + bytes(16)
    )
    assert "members" in why(desk.archive(bytes(packed), ".zip"))


def test_an_xz_that_asks_for_4_gib_of_memory(desk: Desk) -> None:
    packed = bytearray(tar_bytes({"kernel.c": KERNEL}, "xz"))
    length = (packed[12] + 1) * 4  # of the block's header: LZMA2 is filter 0x21, of one byte
    at = packed.index(b"\x21\x01", 12) + 2
    packed[at] = 40
    struct.pack_into("<L", packed, 12 + length - 4, zlib.crc32(packed[12 : 12 + length - 4]))
    check_text(why(desk.archive(bytes(packed), ".tar.xz")))


def test_a_file_too_large_in_a_folder(desk: Desk) -> None:
    put(desk.delivery / "eve", {"kernel.c": b"x" * (FILE_BYTES + 1)})
    check_text(why(desk.take()))
    put(desk.delivery / "eve", {"kernel.c": b"x" * FILE_BYTES})
    assert notes(desk.take()) == ""


# ---- broken and unclear ------------------------------------------------------------------------


def test_an_encrypted_zip(desk: Desk) -> None:
    packed = bytearray(zip_bytes({"kernel.c": KERNEL}))
    packed[packed.index(b"PK\3\4") + 6] |= 1
    packed[packed.index(b"PK\1\2") + 8] |= 1
    check_text(why(desk.archive(bytes(packed), ".zip")))


@pytest.mark.parametrize(
    ("suffix", "packed"),
    [
        (".zip", b""),
        (".zip", b"<!DOCTYPE html>"),
        (".zip", zip_bytes({"kernel.c": KERNEL})[:-30]),
        (".zip", zip_bytes({})),
        (".tar.gz", tar_bytes({"kernel.c": KERNEL * 999})[:-20]),
        (".tar.xz", tar_bytes({"kernel.c": KERNEL * 999}, "xz")[:-30]),
        (".tar", tar_bytes({"kernel.c": KERNEL}, "")[:516]),
        (".tar.gz", zip_bytes({"x": b""}, compression=zipfile.ZIP_STORED)),
        (".rar", b"Rar!"),
        (".7z", b"7z"),
    ],
    ids=lambda value: "packed" if isinstance(value, bytes) else value,  # they hold the time
)  # fmt: skip
def test_broken_archives(desk: Desk, suffix: str, packed: bytes) -> None:
    check_text(why(desk.archive(packed, suffix)))


def test_the_same_file_twice(desk: Desk) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("kernel.c", KERNEL)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("kernel.c", b"int other;\n")
    check_text(why(desk.archive(packed.getvalue(), ".zip")))
    both = zip_bytes({"kernel.c": KERNEL, "KERNEL.C": b"int other;\n"})
    check_text(why(desk.archive(both, ".zip")))


@pytest.mark.parametrize("name", ["kernel.c.txt", "my_code.c", "kernal.c"])
def test_a_kernel_by_another_name(desk: Desk, name: str) -> None:
    put(desk.delivery / "eve", {name: KERNEL, f"{FIRST}.txt": b""})
    check_text(why(desk.take()))


def test_folders_that_both_hold_the_lab(desk: Desk) -> None:
    files: Files = {f"a/{FIRST}/kernel.c": KERNEL, f"b/{FIRST}/kernel.c": b"int other;\n"}
    said = why(desk.archive(zip_bytes(files), ".zip"))
    check_text(said)


def test_a_student_twice(desk: Desk) -> None:
    """As a folder and as an archive, the name in two forms of Unicode: the same once more is
    no harm, something else is not guessed."""
    put(desk.delivery / "zo\u00eb", {"kernel.c": KERNEL})
    twice = desk.delivery / "zoe\u0308.zip"
    twice.write_bytes(zip_bytes({"kernel.c": KERNEL}))
    same = desk.take()
    assert [one.student.id for one in same.submissions] == ["ada", "zoe"]
    assert not same.problems
    twice.write_bytes(zip_bytes({"kernel.c": b"int other;\n"}))
    (problem,) = desk.take().problems
    assert problem.student is not None
    check_text(problem.why)


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (b"\xef\xbb\xbfint a;\r\nint b;\r\n", b"int a;\nint b;\n"),
        ("int ä;\n".encode("utf-16"), "int ä;\n".encode()),
        ("// é\n".encode("latin-1"), "// é\n".encode("latin-1")),
        (b"", b""),
    ],
)
def test_texts_of_other_systems(desk: Desk, content: bytes, taken: bytes) -> None:
    put(desk.delivery / "eve", {"kernel.c": content})
    (found,) = [one for one in desk.take().submissions if one.student.id == "eve"]
    folder = desk.course.submission("eve", FIRST, found.digest)
    assert (folder / FIRST / "kernel.c").read_bytes() == taken
    assert bool(found.notes) == (content != taken)


def test_what_is_no_text(desk: Desk) -> None:
    put(desk.delivery / "eve", {"kernel.c": b"\x7fELF\0\0", "kernel.f90": b"\xff\xfe\0\xd8"})
    said = why(desk.take())
    check_text(said)


def test_names_that_steer_a_terminal(desk: Desk) -> None:
    put(desk.delivery, {"\x1b[31m\u202eeve\n/kernel.c": KERNEL})
    (desk.delivery / os.fsdecode(b"\xff\xfe.txt")).write_bytes(b"")
    found = desk.take()
    texts = [t for one in found.submissions for t in (one.student.name, one.source)]
    texts += [t for problem in found.problems for t in (problem.source, problem.why)]
    assert len(found.problems) == 1
    assert all(text.isprintable() for text in texts)
    assert shown("a\x1b[2J\u202eb\n" + "x" * 99).isprintable()


def test_any_damage_is_told(desk: Desk) -> None:
    """Archives with bytes changed, put in, cut out: a submission or a problem, never a crash."""
    chance = random.Random(2)
    files: Files = {
        "01_first_touch/kernel.c": KERNEL * 20,
        "kernel.f90": b"end\n",
        "x/y": b"z" * 99,
    }
    whole = {".zip": zip_bytes(files), ".tar.gz": tar_bytes(files), ".tar": tar_bytes(files, ""),
             ".tar.xz": tar_bytes(files, "xz"), ".tar.bz2": tar_bytes(files, "bz2")}  # fmt: skip
    course = desk.delivery.parent / "course"
    for number in range(400):
        suffix = chance.choice(list(whole))
        packed = bytearray(whole[suffix])
        for _ in range(chance.choice((1, 1, 3, 30))):
            at = chance.randrange(len(packed))
            change = chance.choice(("set", "cut", "put"))
            if change == "set":
                packed[at] = chance.randrange(256)
            elif change == "cut":
                del packed[at : at + chance.choice((1, 4, 512))]
            else:
                packed[at:at] = chance.randbytes(chance.choice((1, 4, 512)))
            packed = packed or bytearray(b"x")
        (desk.delivery / f"s{number:03d}{suffix}").write_bytes(packed)
    intake = import_submissions(
        desk.delivery, CourseFolder(course), {FIRST: desk.lab}, lambda _: None
    )
    told = {one.student.id for one in (*intake.submissions, *intake.problems) if one.student}
    assert told == {"ada", *(f"s{number:03d}" for number in range(400))}
    assert len(intake.problems) > 50


class DiesWhileRead:
    """A reader that opens a member, and then meets its limits."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, first: int, second: int) -> None:
        self.asked += 1

    def answer(self) -> Iterator[bytes]:
        if self.asked > 1:
            raise Unreadable("can't be read within 10 s of computing")
        yield b""


def test_a_reader_that_dies_in_a_member_refuses_it() -> None:
    reading: Any = DiesWhileRead()
    archive = archives._Archive(reading, "eve.zip", archives.STUDENT_LIMITS)
    member = Member("d/kernel.c", "file", "", 1_000)
    with (
        raises_text(Refused),
        archives._Stream(archive, 0, member) as stream,
    ):
        stream.read()
