"""What an edition has and has not, and that nothing is left of one that is not made whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.published_labs import is_published

from numalab.editions import write
from numalab.editions.search import (
    Exception_,
    Secret,
    leaks_in,
    plain_lines,
    read_exceptions,
    search,
    secret_of,
)
from numalab.editions.write import edition_files, hints_without
from numalab.errors import NumalabError, UserError
from numalab.files import write_json
from numalab.grading import handed_files, mpi_runs
from numalab.installation import EDITION, Installation
from numalab.labs.declaration import RUN_UNDER, Lab, load_labs
from numalab.labs.hint_ladders import parse_ladders
from numalab.labs.solution_files import Coded, need_solution_text, read_coded, write_coded
from numalab.learning.predictions import read_published
from numalab.learning.questions import find_question, load_questions

LINE = "a[i] = b[i] + secret * c[i];"
SECRET = Secret("x", {LINE: "kernel.c"})


def test_no_line_of_a_solution_is_in_any_file(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    """Of those that are copied; those that are made are searched when an edition is."""
    secrets = {name: secret_of(installation.root, lab) for name, lab in labs.items()}
    for name, secret in secrets.items():
        assert len(secret.lines) > (100 if is_published(name) else 0), name
    exceptions = read_exceptions(installation.root)
    files = list(edition_files(installation.root, set(labs)))
    assert Path("labs/01_first_touch/kernel.c") in files
    assert not any(file.parts[0] in ("solutions", "slides") for file in files)
    for file in files:
        content = (installation.root / file).read_bytes()
        if file.name == "hints.md":
            secret = secrets[file.parts[1]]
            text = hints_without(content.decode(), file.as_posix(), secret, exceptions)
            content = text.encode()
        leaks = leaks_in(content, file.as_posix(), secrets.values(), exceptions)
        told = [f"{leak}; see exceptions.toml in editions/" for leak in leaks]
        assert not told, "\n".join(told)


def test_each_exception_is_used(installation: Installation, labs: dict[str, Lab]) -> None:
    """And each line of it is in a solution."""
    lines = {line for lab in labs.values() for line in secret_of(installation.root, lab).lines}
    for exception in read_exceptions(installation.root):
        assert exception.reason.strip() and exception.lines <= lines, exception.reason


def test_a_lab_has_exceptions_of_its_own(tmp_path: Path, kit_root: Path, first_touch: Lab) -> None:
    """Which are with its solution, so that no student gets them, and no part of it."""
    lab = first_touch
    for above in ("labs", "solutions"):
        (tmp_path / above).mkdir()
        shutil.copytree(kit_root / above / lab.name, tmp_path / above / lab.name)
    before, secret = read_exceptions(tmp_path), secret_of(tmp_path, lab)
    line = next(iter(secret.lines))
    (tmp_path / "solutions" / lab.name / "exceptions.toml").write_text(
        f"[[exception]]\nreason = 'x'\nfiles = ['labs/*/README.md']\nlines = [{line!r}]\n"
    )
    assert secret_of(tmp_path, lab) == secret
    assert [one for one in read_exceptions(tmp_path) if one not in before] == [
        Exception_("x", ("labs/*/README.md",), frozenset({line}))
    ]


def test_hints_end_before_the_solution(installation: Installation, labs: dict[str, Lab]) -> None:
    """Of lab 05 two ladders are shorter, and each criterion still has one."""
    lab = labs["05_memory_policy"]
    file = f"labs/{lab.name}/grading/hints.md"
    text = (installation.root / file).read_text()
    shorter = hints_without(
        text, file, secret_of(installation.root, lab), read_exceptions(installation.root)
    )
    before = {ladder.topic: ladder for ladder in lab.hints}
    after = parse_ladders(shorter, [criterion.name for criterion in lab.criteria])
    cut = {one.topic for one in after if one.levels != before[one.topic].levels}
    assert cut == {"blocks", "file"}
    assert all(one.levels == before[one.topic].levels[: len(one.levels)] for one in after)
    assert "interleave=all" in text and "interleave=all" not in shorter


@pytest.mark.parametrize(
    "content",
    [
        LINE.encode(),
        f"  {LINE.replace(' ', '   ')}  // as it should be".encode(),
        b"\x7fELF\0\1" + LINE.encode() + b"\0\xff",
    ],
    ids=["alone", "other_blanks", "in_an_object"],
)
def test_a_line_is_found(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "file").write_bytes(content)
    (leak,) = search(tmp_path, (SECRET,), ())
    assert (leak.file, leak.line, leak.source) == ("labs/file", LINE, "kernel.c")


def test_blanks_are_one() -> None:
    assert plain_lines(b"  a \t b \r\nc\0d") == ["a b", "c", "d"]


def as_edition(installation: Installation, lab: Lab, root: Path) -> Installation:
    """With what of an edition's solution is no object."""
    made = Installation(root, installation.preset)
    made.solution_folder(lab.name).mkdir(parents=True)
    (root / "labs").mkdir()
    made.lab_folder(lab.name).symlink_to(installation.lab_folder(lab.name))
    write_coded(made.solution_folder(lab.name), write.coded_of(installation, lab))
    write_json(root / EDITION, {})
    return made


@pytest.mark.parametrize("name", ["02_affinity", "05_memory_policy", "06_message_latency"])
def test_files_and_figures_are_those_of_the_solution(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path, name: str
) -> None:
    lab = labs[name]
    made = as_edition(installation, lab, tmp_path)
    kits, own = installation.solution_folder(name), made.solution_folder(name)
    compared = [file for file in lab.files if file.kind in RUN_UNDER]
    assert compared
    for file in compared:
        texts = [need_solution_text(folder, file.name) for folder in (kits, own)]
        contents = [handed_files._content(file, text) for text in texts]
        assert contents[0] == contents[1]
        if file.kind == "launch":
            assert mpi_runs.launch.parse_policy(texts[0], "x") == mpi_runs.launch.parse_policy(
                texts[1], "x"
            )
    assert read_published(own) == read_published(kits)
    shown = (own / "solution.coded").read_bytes()
    assert not list(leaks_in(shown, "x", (secret_of(installation.root, lab),), ()))


def test_sealed_answers_say_what_the_answers_say(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    lab = labs["01_first_touch"]
    made = as_edition(installation, lab, tmp_path)
    for name, question in load_questions(installation, lab.name).items():
        sealed = find_question(made, lab.name, name)
        assert sealed.question_text() == question.question_text()
        for letter in question.choices:
            assert sealed.checked(letter) == question.checked(letter)
    answers = read_coded(made.solution_folder(lab.name)).answers
    for name, one in answers.items():
        assert len({len(text) for choice, text in one.items() if choice != "salt"}) == 1, name


def test_a_damaged_answer_is_the_kits_trouble(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    lab = labs["01_first_touch"]
    made = as_edition(installation, lab, tmp_path)
    folder = made.solution_folder(lab.name)
    write_coded(folder, Coded({}, {}))
    with pytest.raises(NumalabError, match="can't be opened"):
        find_question(made, lab.name, "reading_first").checked("a")
    (folder / "solution.coded").write_bytes(b"no")
    with pytest.raises(NumalabError, match="Unpack this copy"):
        need_solution_text(folder, "omp_full.env")


def test_what_needs_solutions_says_so(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    made = as_edition(installation, labs["01_first_touch"], tmp_path)
    assert made.is_edition and not installation.is_edition
    with pytest.raises(UserError, match="student's edition"):
        made.need_solutions("./numalab audit")
    installation.need_solutions("./numalab audit")
    assert not load_labs(tmp_path)["01_first_touch"].has_solution_text


@pytest.mark.parametrize("there", ["file", "full"])
def test_where_something_is_nothing_is_written(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path, there: str
) -> None:
    target = tmp_path / "out"
    if there == "file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "mine").write_text("mine")
    with pytest.raises(UserError, match="new or empty"):
        write.write_edition(installation, [labs["01_first_touch"]], target, print)
    assert (target if there == "file" else target / "mine").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("ends", [KeyboardInterrupt, NumalabError, None])
def test_nothing_is_left_of_one_that_is_not_whole(
    installation: Installation,
    labs: dict[str, Lab],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: type[BaseException] | None,
) -> None:
    """Interrupted, failed, or with a line of the solution in it."""
    lab = labs["01_first_touch"]

    def written(installation: Installation, labs: object, partial: Path, progress: object) -> None:
        (partial / "notes.md").write_bytes(
            (installation.solution_folder(lab.name) / "kernel.c").read_bytes()
        )
        if ends is not None:
            raise ends

    monkeypatch.setattr(write, "_write", written)
    with pytest.raises(ends or NumalabError) as error:
        write.write_edition(installation, [lab], tmp_path / "out", lambda step: None)
    if ends is None:
        assert "notes.md has a line of solutions/01_first_touch/kernel.c" in str(error.value)
    assert not any(tmp_path.iterdir())
