"""Lab 06's program for a link: built with a ping_pong, and what it prints."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Language

LAB = "06_message_latency"
STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
COLUMNS = 80

_HEAD = re.compile(r" +bytes +one way, us +MB/s +of (link|most)  a full bar: ([\d.]+) MB/s")
_ROW = re.compile(r"([ \d]{9}) ([ \d.]{12}) ([ \d.]{10}) ([ \d.]{6}) %  ([ #]*\|?#*)")
_LINE = re.compile(
    r"\| by t\(n\) = t0 \+ n/B, from the ends: t0 = (\S+) us, "
    r"(?:B = (\S+) MB/s,\n  which reaches half of B at t0 x B = (\d+) bytes"
    r"|and the longest message\n  took no longer: B can't be told)\n"
)


@dataclass(frozen=True)
class Curve:
    """share_of: 'link' or 'most', what full_mb_s is of. us, shares, bars: by bytes. mb_s and
    half_bytes: None where the longest message took no longer than the shortest."""

    share_of: str
    full_mb_s: float
    us: dict[int, float]
    shares: dict[int, float]
    bars: dict[int, str]
    t0_us: float
    mb_s: float | None
    half_bytes: int | None


def build_across(
    installation: Installation, language: Language, program: Path, kernels: Path | None = None
) -> None:
    """As the lab's text says. kernels: a folder with the kernel, None: the solution's."""
    lab, folder = installation.lab_folder(LAB), program.parent
    kernel = (kernels or installation.solution_folder(LAB)) / KERNEL_FILES[language]
    include, source = f"-I{lab}", str(lab / "across.c")
    commands = {
        "c": [["mpicc", *STRICT, include, source, str(kernel), "-o", str(program)]],
        "fortran": [
            ["mpicc", *STRICT, include, "-c", source, "-o", f"{program}.o"],
            ["mpifort", "-O2", f"{program}.o", str(kernel), "-o", str(program)],
        ],
    }
    for command in commands[language]:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def read_curve(said: str) -> Curve:
    """Fails where a line is another than the program's, or too long for a terminal."""
    lines = said.splitlines(keepends=True)
    assert all(len(line.rstrip("\n")) <= COLUMNS for line in lines), said
    head = _HEAD.fullmatch(lines[0].rstrip("\n"))
    rows = [_ROW.fullmatch(line.rstrip("\n")) for line in lines[1:-2]]
    line = _LINE.fullmatch("".join(lines[-2:]))
    assert head and rows and line, said
    cells = [row.groups() for row in rows if row is not None]
    assert len(cells) == len(rows), said
    sizes = [int(cell[0]) for cell in cells]
    return Curve(
        share_of=head[1],
        full_mb_s=float(head[2]),
        us={size: float(cell[1]) for size, cell in zip(sizes, cells, strict=True)},
        shares={size: float(cell[3]) / 100 for size, cell in zip(sizes, cells, strict=True)},
        bars={size: cell[4] for size, cell in zip(sizes, cells, strict=True)},
        t0_us=float(line[1]),
        mb_s=None if line[2] is None else float(line[2]),
        half_bytes=None if line[3] is None else int(line[3]),
    )
