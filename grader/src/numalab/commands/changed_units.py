"""Which unit tests in C a change can reach: those whose programs are made of a changed file; all,
for a file of the build or one that ninja does not know."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from numalab.commands.changed_tests import BUILT, WORDS
from numalab.processes import shell_variables, starting

COMPILED = (".c", ".h", ".f90")


def pick_units(build: Path, root: Path, changed: Collection[str]) -> list[str] | None:
    """Return the names of ctest's unit tests whose programs are made of changed files, by what
    ninja knows of them; None stands for all of them, for a file of the build itself or one that
    ninja does not know. build: the build folder, up to date."""
    sources = [file for file in changed if _is_built_of(PurePosixPath(file))]
    if not sources:
        return []
    inputs = _inputs_of_units(build)
    known = set().union(*inputs.values())
    paths = {str(root / file) for file in sources}
    strange = [p for p in paths - known if Path(p).suffix not in COMPILED or "/common/" in p]
    if any(Path(path).exists() for path in strange):
        return None
    return sorted(name for name, files in inputs.items() if files & paths)


def _is_built_of(file: PurePosixPath) -> bool:
    """Tell whether a program in C may depend on a file: kernels and drivers of labs, too."""
    is_build_file = file.name.startswith("CMake") or file.suffix in BUILT
    return is_build_file or (file.parts[0] == "common" and file.suffix not in WORDS)


def _inputs_of_units(build: Path) -> dict[str, set[str]]:
    """Return the sources and headers of each unit test's program, by the test's name."""
    listed = json.loads(_output(build, "ctest", "--show-only=json-v1", "-L", "unit"))
    headers = read_dependencies(_output(build, "ninja", "-t", "deps"), build)
    inputs = {}
    for test in listed["tests"]:
        program = Path(test["command"][0]).relative_to(build)
        files = set(_output(build, "ninja", "-t", "inputs", str(program)).splitlines())
        inputs[test["name"]] = files.union(*(headers.get(file, ()) for file in files))
    return inputs


def read_dependencies(text: str, build: Path) -> dict[str, set[str]]:
    """Return the files that objects were compiled from, as `ninja -t deps` lists them."""
    found: dict[str, set[str]] = {}
    files: set[str] = set()
    for line in text.splitlines():
        if line.startswith("    "):
            files.add(str(build / line.strip()))
        elif ":" in line:
            files = found.setdefault(line.partition(":")[0], set())
    return found


def _output(folder: Path, *command: str) -> str:
    done = starting.run(list(command), shell_variables.builder_environment(), cwd=folder)
    done.check_returncode()
    return done.stdout
