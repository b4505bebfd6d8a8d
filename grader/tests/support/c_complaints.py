"""Names of C that are not the field's words, but for those that stand for something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.banned_names import complaints, words
from support.c_names import visible_names

# Of a banned word: names in which it stands for something else, or is stored, and why.
KEPT = {
    "open": (r".*", "the verb of open(2): files, channels, a page's state"),
    "sample": (r".*", "statistics' own: pages or moments drawn out of many"),
    "kit": (r".*kit_error", "a status that records have"),
    "generation": (r"numalab_run_generation|(?:test_)?generation", "a kind of run in records"),
    "item": (r".*items?", "what the contract of lab 09 speaks of"),
    "at": (r"numalab_run_at_work|at_work", "a kind of run that records have"),
    "socket": (r".*sockets?", "a network's"),
    "busy": (r"test_busy", "named as CTest's is"),
    "stolen": (r"test_stolen", "named as CTest's is"),
    "one": (r"LLVMFuzzerTestOneInput", "libFuzzer's name"),
    "host": (r"host_target|probe_host", "below a virtual machine; programs that the grader builds"),
    "on": (r"on_link", "a program that the grader builds"),
    "across": (r"across", "a program that students run"),
}


def sources(root: Path) -> list[Path]:
    """All but what students edit."""
    patterns = ("common/**/*.[ch]", "labs/**/*.[ch]", "grader/bench/*.[ch]")
    paths = [path for pattern in patterns for path in root.glob(pattern)]
    return [path for path in sorted(paths) if path.name != "kernel.c"]


def contract_words(path: Path, root: Path) -> set[str]:
    """Return the words of the functions and arguments that a lab's students see."""
    if path.parts[len(root.parts)] != "labs":
        return set()
    lab = root.joinpath(*path.parts[len(root.parts) :][:2])
    name = lab.name.split("_", 1)[1]
    return {
        word
        for header in lab.rglob(f"{name}.h")
        for _, shown in visible_names(header.read_text())
        for word in words(shown)
    }


def complaints_of(path: Path, names: set[str], root: Path) -> Iterator[str]:
    known = contract_words(path, root)
    for name in sorted(names):
        for complaint in complaints(name):
            word = re.findall(r"'(\w+)'", complaint)[0]
            kept = KEPT.get(word) or KEPT.get(word.removesuffix("s"))
            if word not in known and not (kept and re.fullmatch(kept[0], name, re.IGNORECASE)):
                yield f"{path.relative_to(root)}: {complaint}"
