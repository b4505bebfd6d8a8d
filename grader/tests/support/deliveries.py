"""Deliveries for tests: archives of every kind, and a class of 40 with the troubles of classes."""

from __future__ import annotations

import base64
import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES

Files = Mapping[str, bytes]


def put(folder: Path, files: Files) -> Path:
    """Writes files below a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def zip_bytes(files: Files, *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tar_bytes(files: Files, kind: str = "gz") -> bytes:
    """kind: gz, xz, bz2, or empty for a plain tar."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


# One member kernel.c with KERNEL_BYTES, which are made up: as bsdtar 3.6.2 writes 7z, and as RAR 4
# stores a file. bsdtar unpacks both, 7z the first, unar the second.
KERNEL_BYTES = b'#include "first_touch.h"\nvoid initialize(void) {}\n'
SEVEN_ZIP = base64.b64decode(
    "N3q8ryccAANMjQBiOwAAAAAAAABoAAAAAAAAAP3G+hMAEZpJxkcPE6IAdx0TITMpfE18xNVPqme7"
    "AM7k2iZ4zQ75USZa1LPSI8sc1tR9isyj4CfQtt//UHoAAAEEBgABCTsABwsBAAEjAwEBBV0AAIAA"
    "DDIACAoBjOxXIgAABQEREwBrAGUAcgBuAGUAbAAuAGMAAAAUCgEAAFCMKmKp3AESCgEA+CzDtqN7"
    "3QETCgEAAFCMKmKp3AEVBgEAIICkgQAA"
)
RAR = base64.b64decode(
    "UmFyIRoHAM+QcwAADQAAAAAAAADA5HQAgCgAMgAAADIAAAADjOxXIgBQYVwUMAgApIEAAGtlcm5l"
    "bC5jI2luY2x1ZGUgImZpcnN0X3RvdWNoLmgiCnZvaWQgaW5pdGlhbGl6ZSh2b2lkKSB7fQrEPXsA"
    "QAcA"
)


def git(folder: Path, *command: str, at: str = "2026-03-01T10:00:00+01:00") -> None:
    said = (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", at))
    who = {f"GIT_{one}_{what}": v for one in ("AUTHOR", "COMMITTER") for what, v in said}
    subprocess.run(
        ["git", "-C", folder, *command],
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **who},
        check=True,
        capture_output=True,
    )


def clone(folder: Path, files: dict[str, bytes], at: str) -> Path:
    put(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", at=at)
    return folder


Kind = Literal["right", "wrong", "missing", "broken"]


@dataclass(frozen=True)
class Expected:
    """What is to come of a student: right, all that can be graded passes; wrong, the handout,
    which fails; missing, nothing was handed in; broken, nothing that can be read was. entry: of
    the delivery, empty where there is none."""

    name: str
    kind: Kind
    language: str
    entry: str = ""


# Given, as they are handed in: accents as one character (NFC) and as two (NFD), other scripts,
# spaces, two that differ in an accent only, and names that mean something elsewhere.
_NAMES = (
    "Ada Lovelace", "Zo\u00eb \u0141ukasz", "Jose\u0301 Nun\u0303ez", "Jose Nunez", "李雷",
    "Мария Иванова", "O'Brien, Se\u00e1n", "  Two  Spaces ", "-rf", "=SUM(A1)", "<b>Bold",
    "name.with.dots", "под_черта", "con", "Robert'); DROP TABLE students;--",
)  # fmt: skip


def class_names(count: int) -> list[str]:
    return [*_NAMES, *(f"Student {number:02d}" for number in range(count))][:count]


def make_class(
    installation: Installation, folder: Path, lab: str = "01_first_touch", count: int = 40
) -> tuple[Path, Path, tuple[Expected, ...]]:
    """A delivery of the plain layout, the list of its students, and what is to come of each.
    Right ones hand in the kit's solution, wrong ones the handout, as a folder, a zip or a tar,
    under lab's folder, below a wrapping one, or with nothing above; so that many have archives
    with the same file name and equal files in them."""
    delivery = folder / "hand-ins"
    delivery.mkdir(parents=True)
    expected = []
    lines = ["id,name,email"]
    for number, name in enumerate(class_names(count)):
        kind: Kind = ("right", "wrong", "right", "wrong", "broken", "right", "missing", "wrong")[
            number % 8
        ]  # type: ignore[assignment]
        language = ("c", "fortran")[number % 3 == 1]
        kernel = KERNEL_FILES[language]
        source = (
            installation.solution_folder(lab) if kind == "right" else installation.lab_folder(lab)
        )
        content = (source / kernel).read_bytes()
        entry = (
            ""
            if kind == "missing"
            else _hand_in(delivery, number, name, kind, lab, kernel, content)
        )
        expected.append(Expected(name, kind, language, entry))
        lines.append(f's{number:02d},"{name}",s{number:02d}@example.org')
    students = folder / "students.csv"
    students.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return delivery, students, tuple(expected)


def _hand_in(
    delivery: Path, number: int, name: str, kind: Kind, lab: str, kernel: str, content: bytes
) -> str:
    """Writes one; returns the entry's name."""
    where = ("", f"{lab}/", f"my work/{lab}/", "Lab 1/")[number // 2 % 4]
    files = {f"{where}{kernel}": content, "__MACOSX/._x": b"\0", "read me.txt": b"hello"}
    if kind == "broken":
        whole = zip_bytes(files, compression=zipfile.ZIP_STORED)
        (delivery / f"{name}.zip").write_bytes(
            (whole[: len(whole) // 2], b"<html>", b"")[number // 8 % 3]
        )
        return f"{name}.zip"
    form = number % 4
    if form == 0:
        put(delivery / name, files)
        return name
    if form == 1:  # all of these have an archive of the same name
        put(delivery / name, {"submission.zip": zip_bytes(files)})
        return name
    suffix = ("zip", "tar.gz")[form - 2]
    packed = zip_bytes(files) if suffix == "zip" else tar_bytes(files)
    (delivery / f"{name}.{suffix}").write_bytes(packed)
    return f"{name}.{suffix}"
