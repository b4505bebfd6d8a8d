"""A class of forty with ten attackers in it, beside the same class in which those ten hand in the
kit's solution: does anybody else's grade differ, and does anything of the attackers remain? See
README.md."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.deliveries import put

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.gradebook.rules import read_rules
from numalab.errors import NumalabError, UserError
from numalab.files import read_text
from numalab.installation import Installation, find_installation

TESTS = Path(__file__).resolve().parents[1] / "tests"
LAB = "01_first_touch"
EVERY = 4  # student is an attacker
SHARED_MEMORY_SLACK_BYTES = 8 << 20  # that others on the machine may take meanwhile
# Where something could be left behind.
PLACES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path.home(), Path.home() / ".cache")


@dataclass(frozen=True)
class Member:
    """One of the class: what is handed in, by file name; attack: its name, empty for the others."""

    name: str
    files: dict[str, bytes]
    attack: str = ""


def attacks(count: int) -> list[tuple[str, dict[str, bytes]]]:
    """Of the suite's hostile submissions those for the lab in C, of as many classes as there are.
    Raises UserError."""
    by_class = []
    for table in sorted((TESTS / "hostile").glob("*/hostile.toml")):
        entries = tomllib.loads(table.read_text())["submission"]
        by_class.append(
            [
                (f"{table.parent.name}/{entry['name']}", {"kernel.c": source.read_bytes()})
                for entry in entries
                if entry["lab"] == LAB and (source := table.parent / f"{entry['name']}.c").is_file()
            ]
        )
    found = [
        of_class[place]
        for place in range(max(map(len, by_class), default=0))
        for of_class in by_class
        if place < len(of_class)
    ]
    if len(found) < count:
        raise UserError(f"there are {len(found)} attacks on {LAB} in C, not {count}")
    return found[:count]


def members(installation: Installation, count: int, with_attackers: bool) -> list[Member]:
    """Right, wrong and attacking, in turns; without attackers, those hand in the solution."""
    solution = {"kernel.c": (installation.solution_folder(LAB) / "kernel.c").read_bytes()}
    handout = {"kernel.c": (installation.lab_folder(LAB) / "kernel.c").read_bytes()}
    ready = iter(attacks(-(-count // EVERY)))
    found = []
    for number in range(count):
        name = f"student {number:02}"
        if number % EVERY == 0:
            attack, files = next(ready)
            found.append(Member(name, files if with_attackers else solution, attack))
        else:
            found.append(Member(name, (handout, solution)[number % 2]))
    return found


@dataclass(frozen=True)
class Traces:
    """What a machine has of us: files, processes, and bytes of memory that no program maps
    alone."""

    files: frozenset[Path]
    processes: frozenset[str]
    shared_bytes: int

    @classmethod
    def now(cls) -> Traces:
        files = {path for place in PLACES if place.is_dir() for path in place.iterdir()}
        commands = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                words = (read_text(entry / "cmdline") or "").replace("\0", " ").strip()
                commands |= {f"{entry.name} {words}"} if words else set()
        lines = (read_text(Path("/proc/meminfo")) or "").splitlines()
        shared = next(int(line.split()[1]) for line in lines if line.startswith("Shmem:"))
        return cls(frozenset(files), frozenset(commands), shared << 10)

    def left_since(self, before: Traces) -> list[str]:
        found = [f"the file {path}" for path in sorted(self.files - before.files)]
        # Others may start programs meanwhile; ours are built below the kit, or are MPI's.
        ours = ("build/", "worker", "mpiexec", "hydra", "bwrap", "qemu", "confine")
        found += [
            f"the process {command}"
            for command in sorted(self.processes - before.processes)
            if any(word in command for word in ours)
        ]
        more = self.shared_bytes - before.shared_bytes
        if more > SHARED_MEMORY_SLACK_BYTES:
            found.append(f"{more >> 20} MiB of shared memory")
        return found


Grade = dict[str, str]


def graded(
    installation: Installation, folder: Path, people: list[Member]
) -> tuple[dict[str, Grade], int]:
    """Statuses by criterion of everybody, and the exit code."""
    for member in people:
        put(folder / "in" / member.name / LAB, member.files)
    course = CourseFolder(folder / "course")
    course.root.mkdir(parents=True)
    course.rules.write_text("allow_quick = true\n", encoding="utf-8")
    done = subprocess.run(
        [str(installation.root / "numalab"), "batch", "grade", str(folder / "in"), "--out",
         str(course.root), "--labs", "01", "--quick", "--local", "--require-sandbox"],
        stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False,
    )  # fmt: skip
    with use_gradebook(course) as book:
        standing = book.standing(read_rules(course.rules))
    grades = {}
    for row in standing.rows:
        criteria = row.result["criteria"] if row.result is not None else []
        grades[row.student.name] = {c["name"]: c["status"] for c in criteria}
    return grades, done.returncode


def differences(
    people: list[Member], alone: dict[str, Grade], beside: dict[str, Grade]
) -> list[str]:
    """Of those who attack nobody. What is open in one of the two was hidden by other load."""
    found = []
    for member in people:
        if member.attack:
            continue
        first, second = alone.get(member.name), beside.get(member.name)
        if first is None or second is None or first.keys() != second.keys():
            found.append(f"{member.name}: {first} without them, {second} with them")
            continue
        for name, status in first.items():
            if status != second[name] and "inconclusive" not in (status, second[name]):
                found.append(f"{member.name}, {name}: {status} without, {second[name]} with them")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    given = parser.parse_args()
    installation = find_installation("gnu")
    grades, codes = [], []
    with tempfile.TemporaryDirectory(prefix="class-") as name:
        before = Traces.now()
        for with_attackers in (False, True):
            people = members(installation, given.students, with_attackers)
            of_class, code = graded(installation, Path(name) / str(with_attackers), people)
            grades.append(of_class)
            codes.append(code)
        left = Traces.now().left_since(before)
        differing = differences(people, grades[0], grades[1])
        print(json.dumps({
            "students": given.students,
            "attackers": {m.attack: grades[1].get(m.name) for m in people if m.attack},
            "open": [sum("inconclusive" in g.values() for g in of_class.values())
                     for of_class in grades],
            "differences": differing, "left": left, "exit_codes": codes,
        }, indent=1))  # fmt: skip
    return 1 if differing or left else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NumalabError, UserError) as error:
        sys.exit(f"hostile_class: {error}")
