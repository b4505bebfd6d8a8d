"""What readers who do not speak English at home stumble over is in no text, message or comment: an
"a" that means "per", "mend" for "fix", and a computer that is called node beside NUMA nodes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from numalab.installation import find_installation

ROOT = find_installation("gnu").root
FOLDERS = ("common", "grader", "labs", "slides", "solutions")
SUFFIXES = {".c", ".cmake", ".env", ".f90", ".h", ".html", ".ipynb", ".md", ".py", ".toml", ".yml"}
MADE = {"node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints"}

_NUMBER = r"(?:\d[\d,.]*|one|two|three|four|five|six|eight|ten|sixteen|many)"
_COUNTED = (
    r"(?:threads?|PUs?|cores?|ranks?|process(?:es)?|pages?|places?|bits?|rows?|lines?|entry|entries"
    r"|NUMA nodes?|repetitions?|cycles?|trials?|tests?|minutes?|seconds?|ns|us|ms|s|[KMG]i?B"
    r"|bytes|messages|transfers|signs?|jobs?)"
)
_UNIT = (
    r"(?:core|thread|PU|page|rank|row|package|socket|NUMA node|node|array|character|element|chunk"
    r"|criterion|property|repetition|generation|grading|verdict|iteration|process|student|cell"
    r"|language|lab|file|message|pair|round|phase|size|step|second|microsecond|nanosecond)"
)
PER = re.compile(
    rf"\b(?:{_NUMBER} {_COUNTED}|(?:a|one) (?:thread|rank|place|character)|once|twice)"
    rf" an? {_UNIT}\b|\bone an? (?:core|thread|PU|page|rank|NUMA node|package|criterion|lab)\b",
    re.IGNORECASE,
)
MEND = re.compile(r"\b(?:un)?mend(?:s|ed|ing)?\b", re.IGNORECASE)
# Only in texts: in code a sentence has no end that a pattern finds.
_COMPUTER = r"(?:virtual nodes?|(?:this|your|the student's|a real|a busy|a quiet|a whole) node)\b"
NODES = re.compile(
    rf"\b{_COMPUTER}[^.!?:;|]*\bNUMA nodes?\b|\bNUMA nodes?\b[^.!?:;|]*\b{_COMPUTER}"
    r"|\ba node with [^.!?:;|]*\bNUMA nodes?\b",
    re.IGNORECASE,
)


def in_a_row(text: str) -> str:
    """Words as they are read: without line ends, marks of comments, and quotes between parts of a
    string. A paragraph's end is a stop."""
    text = re.sub(r"\\n|\n[ \t]*\n", " . ", text)
    return re.sub(r"""[\s#*/!"'`]+(?:f?["'])?\s*""", " ", text)


def files() -> list[Path]:
    paths = [path for path in ROOT.iterdir() if path.suffix in SUFFIXES]
    for folder in FOLDERS:
        inside = (ROOT / folder).rglob("*")
        paths += [path for path in inside if path.suffix in SUFFIXES and not MADE & {*path.parts}]
    return [path for path in paths if path != Path(__file__)]


def found(pattern: re.Pattern[str], suffixes: set[str]) -> list[str]:
    read = [path for path in files() if path.suffix in suffixes]
    assert len(read) >= 50
    return [
        f"{path.relative_to(ROOT)}: ... {place[0]} ..."
        for path in read
        for place in pattern.finditer(in_a_row(path.read_text("utf-8", "replace")))  # one is UTF-16
    ]


def test_per_is_written_per() -> None:
    places = found(PER, SUFFIXES)
    assert not places, "write 'per', or put a comma between:\n" + "\n".join(places)


def test_what_is_wrong_is_fixed() -> None:
    places = found(MEND, SUFFIXES)
    assert not places, "write 'fix':\n" + "\n".join(places)


def test_a_machine_and_its_numa_nodes_have_two_names() -> None:
    places = found(NODES, {".md", ".ipynb", ".toml"})
    assert not places, "call the computer a machine:\n" + "\n".join(places)


@pytest.mark.parametrize(
    ("pattern", "stumbled_over", "plain"),
    [
        (PER, "one thread\n    a core", "one thread\n    per core"),
        (PER, 'f"starts one thread "\n    f"a core"', 'f"starts one thread "\n    f"per core"'),
        (PER, "/* 682 pages an\n * array */", "/* 682 pages per\n * array */"),
        (PER, "# A thread a PU: two", "# A thread per PU: two"),
        (PER, "14 ms a student", "14 ms; a student"),
        (PER, "as OpenMP takes, one a PU", "one, a PU"),
        (PER, "run once a\n process", "run once; a process"),
        (MEND, "3. **Mend** one loop", "3. **Fix** one loop; amend a recommendation"),
        (MEND, "which setup mends", "which setup fixes"),
        (NODES, "This node has 1 NUMA node", "This machine has 1 NUMA node"),
        (NODES, "one NUMA node, on a\nvirtual node", "one NUMA node, on a virtual machine"),
        (NODES, "On a node with several NUMA nodes", "On this node. Two NUMA nodes\n\nthis node"),
    ],
)
def test_what_is_found_and_what_is_not(
    pattern: re.Pattern[str], stumbled_over: str, plain: str
) -> None:
    assert pattern.search(in_a_row(stumbled_over))
    assert not pattern.search(in_a_row(plain))
