"""The archive of a release: what is committed, such that unpacking it over an earlier copy takes
nobody's work.

    .venv/bin/python -m numalab.editions.release numalab-0.2.0.tar.gz

What students edit lies in it where nobody edits it (installation.RELEASED), and the first command
afterwards puts it into labs/ where nothing is (common/setup/unpacked.sh). A student copy is laid
out likewise.
"""

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

UNPACKED = ".unpacked"  # until the first command
GONE = "common/setup/gone.txt"
KINDS = (".tar.gz", ".tar", ".zip")
# Whoever works in a copy has made these, whatever an earlier release had there.
_USER_PATHS = ("build/*", "notebooks/*", "variants/*", "labs/*/explanation.txt")


def _git(root: Path, *words: str | Path, **more: str) -> str:
    """Return what a command of git says. more: variables of its environment. Raises
    NumalabError."""
    command = ["git", "-C", root, "-c", "safe.directory=*", "-c", "core.quotePath=false", *words]
    try:
        done = starting.run(command, {**shell_variables.builder_environment(), **more})
    except OSError as error:
        raise NumalabError(f"git can't be run: {reason_of(error)}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise NumalabError(f"git {words[0]} in {root} said: {last}")
    return done.stdout


def gone_paths(root: Path, commit: str = "HEAD") -> list[str]:
    """Return the files that commits before this one had and it has not, from the root. Raises
    NumalabError where there is no history."""
    log = _git(root, "log", "--no-renames", "--diff-filter=A", "--name-only", "--format=", commit)
    now = set(_git(root, "ls-tree", "-r", "--name-only", commit).splitlines())
    gone = sorted(set(filter(None, log.splitlines())) - now)
    return [path for path in gone if not any(fnmatch(path, of) for of in _USER_PATHS)]


def known_gone_paths(root: Path) -> list[str]:
    """Return gone_paths of a clone; of what was unpacked the ones that it came with."""
    try:
        top = _git(root, "rev-parse", "--show-toplevel").rstrip("\n")
        if Path(top).resolve() == root.resolve():
            return gone_paths(root)
    except NumalabError:  # no clone, or one without commits
        pass
    return (read_text(root / GONE) or "").splitlines()


def moved_paths(labs: Iterable[Lab]) -> dict[str, str]:
    """Return where in what is unpacked each file lies that students edit, by where they edit it."""
    return {
        f"labs/{lab.name}/{name}": f"labs/{lab.name}/{RELEASED}/{name}"
        for lab in labs
        for name in edited_names(lab)
    }


def lay_out(tree: Path, labs: Iterable[Lab], gone: Sequence[str]) -> None:
    """Make of files as a clone has them what may be unpacked over an earlier copy. Raises
    OSError."""
    for place, given in moved_paths(labs).items():
        if (tree / given).is_file():  # of a kit that was unpacked itself
            (tree / place).unlink(missing_ok=True)
        elif (tree / place).is_file():
            (tree / given).parent.mkdir(parents=True, exist_ok=True)
            (tree / place).rename(tree / given)
    lines = [f"{path}\n" for path in gone if not (tree / path).exists()]
    (tree / GONE).parent.mkdir(parents=True, exist_ok=True)
    (tree / GONE).write_text("".join(lines), "utf-8")
    (tree / UNPACKED).write_text("", "utf-8")


def write_archive(root: Path, target: Path) -> None:
    """Write the release that is committed in a clone, the same bytes each time. target: its name
    ends in .tar.gz, .tar or .zip. Raises UserError where files differ from what is committed, and
    NumalabError."""
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
        # As a commit, so that files have its time.
        when = _git(root, "log", "-1", "--format=%cI").strip()
        names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
        who = dict.fromkeys(names, "numalab")
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        commit = _git(root, "commit-tree", tree, "-m", f"numalab {__version__}", **who, **dates)
    prefix = f"--prefix=numalab-{__version__}/"
    # A zip file has times of a zone.
    _git(root, "archive", prefix, f"--output={target.absolute()}", commit.strip(), TZ="UTC")


def _tree(root: Path, moved: Mapping[str, str], gone: Sequence[str], scratch: Path) -> str:
    """Return git's name of the files of a release. Raises NumalabError."""
    index = {"GIT_INDEX_FILE": str(scratch / "index")}
    _git(root, "read-tree", "HEAD", **index)
    for place, given in moved.items():
        entry = _git(root, "ls-files", "--stage", place, **index).split()
        if entry:
            _git(
                root,
                "update-index",
                "--add",
                "--cacheinfo",
                f"{entry[0]},{entry[1]},{given}",
                **index,
            )
            _git(root, "update-index", "--force-remove", place, **index)
    for name, lines in ((UNPACKED, ()), (GONE, gone)):
        (scratch / "file").write_text("".join(f"{path}\n" for path in lines), "utf-8")
        blob = _git(root, "hash-object", "-w", scratch / "file").strip()
        _git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
    return _git(root, "write-tree", **index).strip()


def main(words: Sequence[str]) -> int:
    """Write the archive that is named, of the clone that this file is in."""
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
