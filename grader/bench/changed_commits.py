"""Would ./numalab test --changed have run the tests that past commits changed?

    .venv/bin/python grader/bench/changed_commits.py --commits 30 --seed 1

Draws commits that changed test modules together with other files, picks tests in each commit's own
tree by its other files alone, and prints which of the changed test modules were not picked and
which share of all test functions was. A commit may also change tests of what it leaves alone: a
module that is not picked is run with the other files as they were before the commit, and is missing
where that fails. Ends with 1 if one is.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from numalab.commands.changed_tests import TESTS, Picked, is_test, pick_tests
from numalab.commands.test import QUICK

ROOT = Path(__file__).resolve().parents[2]

NEEDS = "needs"  # a module that has to be picked


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


@dataclass(frozen=True)
class Commit:
    """name: its hash. tests: test modules that it changed and left there; others: the files that
    it changed outside of tests."""

    name: str
    tests: frozenset[str]
    others: frozenset[str]


def commits_with_tests() -> list[Commit]:
    """Return all commits of the history that changed a test module and a file outside of tests."""
    log = git("log", "--no-merges", "--no-renames", "--format=%x01%H", "--name-status", "-z")
    found = []
    for entry in log.decode().split("\x01")[1:]:
        name, *words = entry.replace("\n", "\0").split("\0")
        words = [word for word in words if word]
        changes = list(zip(words[0::2], words[1::2], strict=True))
        tests = frozenset(file for how, file in changes if how != "D" and is_test(file))
        others = frozenset(file for _, file in changes if not file.startswith(TESTS))
        if tests and others:
            found.append(Commit(name, tests, others))
    return found


def functions(root: Path, modules: frozenset[str]) -> int:
    """Return how many test functions modules have."""
    return sum((root / m).read_text("utf-8", "replace").count("def test_") for m in modules)


def what_it_needs(root: Path, commit: Commit, modules: Collection[str]) -> str:
    """Return whether test modules that pass in a commit's tree fail without its other changes:
    NEEDS them, or passes without. root: that tree, which is changed."""
    (root / "build").mkdir(exist_ok=True)  # where the suite's lock is
    if not passes(root, modules):
        return "fails here even with"
    for file in commit.others:
        (root / file).unlink(missing_ok=True)
    before = [file for file in commit.others if git("ls-tree", f"{commit.name}^", "--", file)]
    extract(root, f"{commit.name}^", *before)
    return "passes without" if passes(root, modules) else NEEDS


def passes(root: Path, modules: Collection[str]) -> bool:
    """Tell whether the quick tests of modules pass in a tree."""
    tests = [str(Path(module).relative_to("grader")) for module in sorted(modules)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", QUICK.markers,
         *tests],
        cwd=root / "grader", env=os.environ | {"PYTHONPATH": "src"}, capture_output=True,
        check=False,
    )  # fmt: skip
    return done.returncode in (0, 5)  # 5: none of them is quick


def extract(root: Path, commit: str, *files: str) -> None:
    """Write files of a commit, or all of it, below a folder."""
    with tarfile.open(fileobj=BytesIO(git("archive", commit, *files))) as archive:
        archive.extractall(root, filter="data")


def check(commit: Commit) -> tuple[Picked, frozenset[str], str, float]:
    """Return what is picked in a commit's tree, which of its test modules are not and whether they
    need its other files, and the share of test functions that are picked."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        extract(root, commit.name)
        picked = pick_tests(root, commit.others)
        everything = frozenset(
            str(path.relative_to(root)) for path in (root / TESTS).rglob("test_*.py")
        )
        share = functions(root, picked.modules) / functions(root, everything)
        left_out = commit.tests - picked.modules
        needs = what_it_needs(root, commit, left_out) if left_out else ""
    return picked, left_out, needs, share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--commits", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--last", type=int, help="draw from the last N of them")
    arguments = parser.parse_args()
    commits = commits_with_tests()[: arguments.last]
    drawn = random.Random(arguments.seed).sample(commits, min(arguments.commits, len(commits)))
    shares, missing = [], 0
    for commit in drawn:
        picked, left_out, needs, share = check(commit)
        shares.append(share)
        missing += needs == NEEDS
        why = f"; all, for {picked.unplaced}" if picked.unplaced else ""
        lacks = f", not {' '.join(sorted(left_out))}, which {needs} the others" if left_out else ""
        print(f"{commit.name[:9]}: {share:.0%} picked{why}{lacks}", flush=True)
    print(
        f"{len(drawn)} of {len(commits)} commits: {missing} lack a test module that they changed; "
        f"median share of test functions {statistics.median(shares):.0%}, "
        f"all of them in {sum(share == 1 for share in shares)}"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
