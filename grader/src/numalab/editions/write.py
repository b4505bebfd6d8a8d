"""A student copy, which is numalab's files but for instructors' and what grading needs of
solutions, and a variant's pack; both are searched for lines of solutions before they are
written."""

from __future__ import annotations

import re
import shutil
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from numalab import __version__
from numalab.editions.objects import LEVELS, make_objects
from numalab.editions.release import known_gone_paths, lay_out
from numalab.editions.search import (
    Exception_,
    Secret,
    leaks_in,
    plain_lines,
    read_exceptions,
    search,
    secret_of,
)
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import write_json
from numalab.grading.variant_installations import write_pack
from numalab.installation import EDITION, GRADING, Installation
from numalab.installing.copying import copy_files, numalab_files
from numalab.labs.declaration import KERNEL_FILES, RUN_UNDER, Lab, load_lab
from numalab.labs.hint_ladders import HINTS
from numalab.labs.solution_files import Coded, write_coded
from numalab.labs.variants import FOLDER, lab_of_variant
from numalab.learning.predictions import PUBLISHED_FILE
from numalab.learning.questions import load_questions, seal
from numalab.words import StepReport

# Files for instructors, which a student copy lacks besides what no installation has, such as the
# suite (installing/copying.py).
_INSTRUCTORS_FILES = (
    "solutions/*", f"labs/*/{GRADING}/{FOLDER}/*", "slides/*", ".devcontainer/*",
    "grader/src/numalab/editions/exceptions.toml",
)  # fmt: skip
_LADDER = re.compile(r"^(?=# )", re.MULTILINE)
_HINT = re.compile(r"^---\s*\n", re.MULTILINE)


def edition_files(root: Path, labs: Collection[str]) -> Iterator[Path]:
    """Yield the files, as paths from the root, that are copied to a student copy of these labs."""
    for path in numalab_files(root):
        is_of_lab = path.parts[0] == "labs" and len(path.parts) > 2
        if is_of_lab and path.parts[1] not in labs:
            continue
        if not any(fnmatch(path.as_posix(), pattern) for pattern in _INSTRUCTORS_FILES):
            yield path


def hints_without(text: str, file: str, secret: Secret, exceptions: Sequence[Exception_]) -> str:
    """Return the text of hints.md with each ladder cut before the first hint, from its second one
    on, with a line of the solution."""

    def is_open(hint: str) -> bool:
        return any(leaks_in(hint.encode(), file, (secret,), exceptions))

    ladders = []
    for ladder in _LADDER.split(text):
        hints = _HINT.split(ladder)
        kept = next((i for i, hint in enumerate(hints) if i and is_open(hint)), len(hints))
        ladders.append("---\n".join(hints[:kept]).rstrip("\n") + "\n")
    return "\n".join(ladders) if len(ladders) > 1 else ladders[0]


_MOST_LISTED = 8


def check_target(target: Path) -> None:
    """Raise UserError unless target is an empty folder, or is missing and its parent is a
    folder."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UserError(f"{target} is no folder; name one that is new or empty")
    if target.is_dir() and any(target.iterdir()):
        raise UserError(f"{target} is not empty; name a folder that is new or empty")
    if not target.parent.is_dir():
        raise UserError(f"{target.parent} is no folder; make it first")


def write_edition(
    installation: Installation, labs: Sequence[Lab], target: Path, progress: StepReport
) -> int:
    """Write a student copy of these labs, complete or not at all, and return how many files it has.
    Raises UserError for a target that is neither new nor empty, and NumalabError where it can't be
    written or would show lines of solutions."""
    check_target(target)
    try:
        with _whole(target) as partial:
            _write(installation, labs, partial, progress)
            progress("searching it for lines of solutions")
            _check(installation, labs, partial)
            return sum(path.is_file() for path in partial.rglob("*"))
    except OSError as error:
        raise NumalabError(f"the edition can't be written: {reason_of(error)}") from error


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """Yield a folder next to the target that becomes the target where the block ends without an
    exception, and else is removed."""
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        if target.is_dir():
            target.rmdir()
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _shorten_hints(tree: Path, secret: Secret, lab: Lab, exceptions: Sequence[Exception_]) -> None:
    """Shorten a lab's hints in a tree, if it has some, as hints_without does."""
    file = f"labs/{lab.name}/{GRADING}/{HINTS}"
    if (tree / file).is_file():
        text = hints_without((tree / file).read_text("utf-8"), file, secret, exceptions)
        (tree / file).write_text(text, "utf-8")


def _write(
    installation: Installation, labs: Sequence[Lab], partial: Path, progress: StepReport
) -> None:
    progress("copying the kit")
    copy_files(
        installation.root, partial, edition_files(installation.root, {lab.name for lab in labs})
    )
    exceptions = read_exceptions(installation.root)
    for lab in labs:
        _shorten_hints(partial, secret_of(installation.root, lab), lab, exceptions)
    facts = make_objects(installation, labs, partial / "solutions", progress)
    for lab in labs:
        write_coded(partial / "solutions" / lab.name, coded_of(installation, lab))
    lay_out(partial, labs, known_gone_paths(installation.root))
    write_json(
        partial / EDITION,
        {
            "version": __version__,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "labs": [lab.name for lab in labs],
            "levels": list(LEVELS),
            "compilers": [facts["c_compiler"], facts["fortran_compiler"]],
            "mpi": facts["mpi"],
        },
    )


def coded_of(installation: Installation, lab: Lab) -> Coded:
    """Return what grading and notebooks need of a solution besides its objects: texts of files,
    published figures, and answers."""
    folder = installation.solution_folder(lab.name)
    names = [file.name for file in lab.files if file.kind in RUN_UNDER]
    texts = {name: _plain_text(folder / name) for name in names}
    if (folder / PUBLISHED_FILE).is_file():
        texts[PUBLISHED_FILE] = (folder / PUBLISHED_FILE).read_text("utf-8")
    asked = {} if lab.is_variant else load_questions(installation, lab.name)
    answers = {
        question.name: seal(question.name, question.says, question.correct)
        for question in asked.values()
    }
    return Coded(texts, answers)


def _plain_text(path: Path) -> str:
    """Return a file's text without lines that begin with `#`; of a TOML file the whole text where
    that changes what TOML reads."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("#"))
    if path.suffix == ".toml" and tomllib.loads(text) != tomllib.loads("".join(lines)):
        return "".join(lines)
    return text


def _check(installation: Installation, labs: Sequence[Lab], tree: Path) -> None:
    """Raise NumalabError where the search finds a line of a solution in the tree."""
    secrets: list[Secret] = [secret_of(installation.root, lab) for lab in labs]
    leaks = list(search(tree, secrets, read_exceptions(installation.root)))
    if not leaks:
        return
    told = [str(leak) for leak in leaks[:_MOST_LISTED]]
    if leaks[_MOST_LISTED:]:
        told.append(f"and {len(leaks) - _MOST_LISTED} more")
    raise NumalabError(
        "this edition would show lines of solutions, so it is not written:\n  "
        + "\n  ".join(told)
        + "\nChange these files, or name the lines with a reason in exceptions.toml of the lab's "
        "solution, as in grader/src/numalab/editions/exceptions.toml."
    )


# ---- one student's variant -----------------------------------------------------------


def _secret_of_lab(made: Installation, lab: Lab) -> Secret:
    """Return those lines of the solution of a variant's lab whose file, as Secret has it, is one
    that is handed in, and that the variant's contract does not contain."""
    root = made.origin or made.root
    of_lab = load_lab(root / "labs" / lab_of_variant(lab.name))
    answers = {*KERNEL_FILES.values(), *(file.name for file in of_lab.files)}
    given = "\n".join(plain_lines((made.lab_folder(lab.name) / lab.contract).read_bytes()))
    lines = secret_of(root, of_lab).lines.items()
    return Secret(
        of_lab.name,
        {line: file for line, file in lines if file in answers and line not in given},
    )


def pack_variant(made: Installation, lab: Lab, path: Path, progress: StepReport) -> None:
    """Write the pack of a variant to a file. made: the variant's installation. Raises NumalabError
    where the file can't be written or would show lines of the variant's solution or of its
    lab's."""
    try:
        with tempfile.TemporaryDirectory(prefix="numalab-pack-") as folder:
            tree = Path(folder)
            shutil.copytree(made.lab_folder(lab.name), tree / "labs" / lab.name)
            secret = secret_of(made.root, lab)
            exceptions = read_exceptions(made.origin or made.root)
            _shorten_hints(tree, secret, lab, exceptions)
            make_objects(made, [lab], tree / "solutions", progress)
            write_coded(tree / "solutions" / lab.name, coded_of(made, lab))
            # The variant's lines are searched for in solutions/ only: students get its lab's files.
            shown = [*search(tree / "solutions", [secret], exceptions)]
            shown += search(tree, [_secret_of_lab(made, lab)], exceptions)
            if shown:
                raise NumalabError(
                    "the pack would show lines of solutions, so it is not written:\n  "
                    + "\n  ".join(map(str, shown[:_MOST_LISTED]))
                )
            write_pack(tree, path)
    except OSError as error:
        raise NumalabError(f"{path} can't be written: {reason_of(error)}") from error
