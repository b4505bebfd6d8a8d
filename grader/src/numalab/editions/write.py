"""Writes an edition: the kit's files, and of solutions what grading needs; then searches it."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from numalab import __version__
from numalab.editions.contents import edition_files, hints_without
from numalab.editions.objects import LEVELS, make_objects
from numalab.editions.release import known_gone_paths, lay_out
from numalab.editions.search import Secret, read_exceptions, search, secret_of
from numalab.errors import KitError, UserError, reason_of
from numalab.files import write_json
from numalab.installing.copying import copy_files
from numalab.kit import EDITION, Kit
from numalab.labs.declaration import RUN_UNDER, Lab
from numalab.labs.solution_files import Coded, write_coded
from numalab.learning.predictions import PUBLISHED_FILE
from numalab.learning.questions import load_questions
from numalab.learning.sealed_answers import seal
from numalab.words import StepReport

_MOST_TOLD = 8


def check_target(target: Path) -> None:
    """Raises UserError where something is there, or it can't be made."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise UserError(f"{target} is no folder; name one that is new or empty")
    if target.is_dir() and any(target.iterdir()):
        raise UserError(f"{target} is not empty; name a folder that is new or empty")
    if not target.parent.is_dir():
        raise UserError(f"{target.parent} is no folder; make it first")


def write_edition(kit: Kit, labs: Sequence[Lab], target: Path, progress: StepReport) -> int:
    """Whole or not at all; returns how many files it has. Raises UserError and KitError."""
    check_target(target)
    try:
        with _whole(target) as partial:
            _write(kit, labs, partial, progress)
            progress("searching it for lines of solutions")
            _check(kit, labs, partial)
            return sum(path.is_file() for path in partial.rglob("*"))
    except OSError as error:
        raise KitError(f"the edition can't be written: {reason_of(error)}") from error


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A folder beside the target that becomes it at the end; whatever else ends this, nothing is
    left. Raises OSError."""
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


def _write(kit: Kit, labs: Sequence[Lab], partial: Path, progress: StepReport) -> None:
    progress("copying the kit")
    copy_files(kit.root, partial, edition_files(kit.root, {lab.name for lab in labs}))
    exceptions = read_exceptions()
    for lab in labs:
        file = f"labs/{lab.name}/hints.md"
        if (partial / file).is_file():
            text = (partial / file).read_text("utf-8")
            secret = secret_of(kit.root, lab)
            (partial / file).write_text(hints_without(text, file, secret, exceptions), "utf-8")
    compiled = make_objects(kit, labs, partial / "solutions", progress)
    for lab in labs:
        write_coded(partial / "solutions" / lab.name, coded_of(kit, lab))
    lay_out(partial, labs, known_gone_paths(kit.root))
    write_json(
        partial / EDITION,
        {
            "version": __version__,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "labs": [lab.name for lab in labs],
            "levels": list(LEVELS),
            "compilers": [compiled.c, compiled.fortran],
            "mpi": compiled.mpi,
        },
    )


def coded_of(kit: Kit, lab: Lab) -> Coded:
    """What grading and notebooks need of a solution beside its objects. Raises KitError and
    OSError."""
    folder = kit.solution_folder(lab.name)
    names = [file.name for file in lab.files if file.kind in RUN_UNDER]
    texts = {name: _plain_text(folder / name) for name in names}
    if (folder / PUBLISHED_FILE).is_file():
        texts[PUBLISHED_FILE] = (folder / PUBLISHED_FILE).read_text("utf-8")
    asked = {} if lab.is_variant else load_questions(kit, lab.name)
    answers = {
        question.name: seal(question.name, question.says, question.right)
        for question in asked.values()
    }
    return Coded(texts, answers)


def _plain_text(path: Path) -> str:
    """Without comments, which only its reader needs."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("#"))
    if path.suffix == ".toml" and tomllib.loads(text) != tomllib.loads("".join(lines)):
        return "".join(lines)
    return text


def _check(kit: Kit, labs: Sequence[Lab], tree: Path) -> None:
    """Raises KitError where a line of a solution is in the tree."""
    secrets: list[Secret] = [secret_of(kit.root, lab) for lab in labs]
    leaks = list(search(tree, secrets, read_exceptions()))
    if not leaks:
        return
    told = [str(leak) for leak in leaks[:_MOST_TOLD]]
    if leaks[_MOST_TOLD:]:
        told.append(f"and {len(leaks) - _MOST_TOLD} more")
    raise KitError(
        "this edition would show lines of solutions, so it is not written:\n  "
        + "\n  ".join(told)
        + "\nChange these files, or name the lines with a reason in "
        "grader/src/numalab/editions/exceptions.toml."
    )
