"""The archive of a release: what is committed, laid out so that unpacking it over an earlier copy
overwrites none of the files that students edit. These are in a folder of their own
(installation.RELEASED).

Usage: .venv/bin/python -m numalab.editions.release numalab-0.2.0.tar.gz"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from numalab import __version__
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import read_text
from numalab.installation import RELEASED
from numalab.labs.declaration import Lab, load_labs
from numalab.labs.kernel_names import edited_names
from numalab.processes import shell_variables, starting

UNPACKED = ".unpacked"  # the file that an unpacked copy has until its first command
GONE = "common/setup/gone.txt"  # of files that earlier commits had, a path per line
KINDS = (".tar.gz", ".tar", ".zip")
# Made by working in a copy, even where an earlier release had files there.
_USER_PATHS = ("build/*", "notebooks/*", "variants/*", "labs/*/explanation.txt")


def _git(root: Path, *words: str | Path, **more: str) -> str:
    """Return what a command of git prints. more: variables that are added to its environment."""
    command = ["git", "-C", root, "-c", "safe.directory=*", "-c", "core.quotePath=false", *words]
    try:
        done = starting.run(command, {**shell_variables.builder_environment(), **more})
    except OSError as error:
        raise NumalabError(f"git can't be run: {reason_of(error)}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NumalabError(f"git {words[0]} in {root} said: {last}")
    return done.stdout


def gone_paths(root: Path) -> list[str]:
    """Return the paths, from the root and sorted, of files that earlier commits added and the last
    one has not, without those that match _USER_PATHS."""
    log = _git(root, "log", "--no-renames", "--diff-filter=A", "--name-only", "--format=", "HEAD")
    now = set(_git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    gone = sorted(set(filter(None, log.splitlines())) - now)
    return [path for path in gone if not any(fnmatch(path, of) for of in _USER_PATHS)]


def known_gone_paths(root: Path) -> list[str]:
    """Return gone_paths where root is the top of a clone; else, and where git fails, the paths in
    GONE."""
    try:
        top = _git(root, "rev-parse", "--show-toplevel").rstrip("\n")
        if Path(top).resolve() == root.resolve():
            return gone_paths(root)
    except NumalabError:  # no clone, one without commits, or no git
        pass
    return (read_text(root / GONE) or "").splitlines()


def moved_paths(labs: Iterable[Lab]) -> dict[str, str]:
    """Return for each file that students edit its path in an archive, by the path where they edit
    it."""
    return {
        f"labs/{lab.name}/{name}": f"labs/{lab.name}/{RELEASED}/{name}"
        for lab in labs
        for name in edited_names(lab)
    }


def lay_out(tree: Path, labs: Iterable[Lab], gone: Sequence[str]) -> None:
    """Give a tree of files the layout of an archive: move the files that students edit, and write
    GONE and UNPACKED. gone: as gone_paths returns; those that the tree has are left out."""
    for place, given in moved_paths(labs).items():
        if (tree / given).is_file():  # the tree is a copy that was unpacked itself
            (tree / place).unlink(missing_ok=True)
        elif (tree / place).is_file():
            (tree / given).parent.mkdir(parents=True, exist_ok=True)
            (tree / place).rename(tree / given)
    lines = [f"{path}\n" for path in gone if not (tree / path).exists()]
    (tree / GONE).parent.mkdir(parents=True, exist_ok=True)
    (tree / GONE).write_text("".join(lines), "utf-8")
    (tree / UNPACKED).write_text("", "utf-8")


def write_archive(root: Path, target: Path) -> None:
    """Write the archive of what is committed in a clone, whose objects git stores in the clone.
    target: its name ends with one of KINDS. Raises UserError where it does not, or tracked files
    differ from what is committed."""
    if not target.name.endswith(KINDS):
        raise UserError(f"{target}: an archive's name ends in {', '.join(KINDS)}")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    if changed:
        raise UserError(
            f"{changed.split()[1]} differs from what is committed, of which a release is made; "
            "commit that first, or take it back (git stash)"
        )
    labs = load_labs(root).values()
    with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
        tree = _tree(root, moved_paths(labs), gone_paths(root), Path(scratch))
        # An archive of a commit has the commit's time for all files.
        when = _git(root, "log", "-1", "--format=%cI").strip()
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        who = dict.fromkeys(names, "numalab")
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        commit = _git(root, "commit-tree", tree, "-m", f"numalab {__version__}", **who, **dates)
    prefix = f"--prefix=numalab-{__version__}/"
    # A zip file has local times.
    _git(root, "archive", prefix, f"--output={target.absolute()}", commit.strip(), TZ="UTC")


def _tree(root: Path, moved: Mapping[str, str], gone: Sequence[str], scratch: Path) -> str:
    """Store the tree of a release in the clone, and return git's name of it. scratch: a folder for
    files that this needs."""
    index = {"GIT_INDEX_FILE": str(scratch / "index")}
    _git(root, "read-tree", "HEAD", **index)
    for place, given in moved.items():
        entry = _git(root, "ls-files", "--stage", place, **index).split()
        if entry:
            moved_entry = f"{entry[0]},{entry[1]},{given}"
            _git(root, "update-index", "--add", "--cacheinfo", moved_entry, **index)
            _git(root, "update-index", "--force-remove", place, **index)
    for name, lines in ((UNPACKED, ()), (GONE, gone)):
        (scratch / "file").write_text("".join(f"{path}\n" for path in lines), "utf-8")
        blob = _git(root, "hash-object", "-w", scratch / "file").strip()
        _git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
    return _git(root, "write-tree", **index).strip()


def main(words: Sequence[str]) -> int:
    """Write the archive that the command line names, of the clone in NUMALAB_ROOT or the one that
    this file is in; return the exit code."""
    root = Path(os.environ.get("NUMALAB_ROOT") or Path(__file__).resolve().parents[4])
    if len(words) != 1:
        print("usage: python -m numalab.editions.release FILE.tar.gz", file=sys.stderr)
        return 2
    try:
        write_archive(root, Path(words[0]))
    except (UserError, NumalabError) as error:
        print(f"numalab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
