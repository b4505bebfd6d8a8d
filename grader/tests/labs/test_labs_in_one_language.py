"""Labs whose kernels are in C or Fortran alone, and commands that are asked for the other one."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from support.golden_texts import check_text, raises_text
from support.lab_folders import write_grading

from numalab.commands.audit import audit
from numalab.commands.ctest import measure
from numalab.commands.diagnose import diagnose
from numalab.commands.grade import grade_command
from numalab.commands.notes import notes
from numalab.commands.watch import watch
from numalab.diagnosing.known_mistakes import read_mistakes
from numalab.errors import NumalabError, UserError
from numalab.grading.request import labs_in_language
from numalab.harness.build import _missing
from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES, Lab, Language, load_labs

LIKE = "01_first_touch"
ALONE = "77_alone"
OTHER: dict[Language, Language] = {"c": "fortran", "fortran": "c"}


def add_lab(kit: Installation, source: Path, language: Language) -> None:
    """A lab like the first, in one language, of which nobody has kept mistakes."""
    leave = shutil.ignore_patterns(
        "variant", "recorded", "wrong", "__pycache__", KERNEL_FILES[OTHER[language]]
    )
    for above in ("labs", "solutions"):
        shutil.copytree(source / above / LIKE, kit.root / above / ALONE, ignore=leave)
    text = (kit.grading_folder(ALONE) / "lab.toml").read_text().partition("[starting_code]")[0]
    both = 'languages = ["c", "fortran"]'
    assert both in text
    write_grading(kit.lab_folder(ALONE), text.replace(both, f'languages = ["{language}"]'))


@pytest.fixture(params=["c", "fortran"])
def language(request: pytest.FixtureRequest) -> Language:
    return "c" if request.param == "c" else "fortran"


@pytest.fixture
def kit(tmp_path: Path, kit_root: Path, language: Language) -> Installation:
    """Lab 01, and one in a single language."""
    found = Installation(tmp_path)
    for above in ("labs", "solutions"):
        (tmp_path / above).mkdir()
        (tmp_path / above / LIKE).symlink_to(kit_root / above / LIKE)
    add_lab(found, kit_root, language)
    return found


def called(kit: Installation, command: click.Command, *words: str) -> Result:
    return CliRunner().invoke(command, list(words), obj=kit)


@pytest.mark.parametrize(
    ("command", "more"),
    [(grade_command, []), (audit, []), (watch, []), (notes, []), (measure, []),
     (diagnose, ["--seed", "today"])],
)  # fmt: skip
def test_a_language_that_the_named_lab_lacks_is_refused(
    kit: Installation, language: Language, command: click.Command, more: list[str]
) -> None:
    """Before anything is built or waited for: the kit of this test has no programs."""
    done = called(kit, command, "77", "--lang", OTHER[language], *more)
    assert isinstance(done.exception, UserError), done.output
    check_text(str(done.exception))
    assert not (kit.root / "build").exists()


def test_of_all_labs_those_that_have_the_language_are_taken(
    kit: Installation, language: Language
) -> None:
    labs, said = list(load_labs(kit.root).values()), list[str]()
    other = OTHER[language]
    assert [lab.name for lab in labs_in_language(labs, other, False, said.append)] == [LIKE]
    check_text(said)
    for choice in ("all", "edited", language):
        assert labs_in_language(labs, choice, True, pytest.fail) == labs
    with raises_text(UserError):
        labs_in_language(labs, other, True, pytest.fail)
    with raises_text(UserError):
        labs_in_language(labs[1:], other, False, pytest.fail)


def test_notes_of_it_are_in_its_language(
    kit: Installation, language: Language, tmp_path: Path
) -> None:
    """Though C is what is usually shown."""

    def written() -> str:
        done = called(kit, notes, "77", "--out", str(tmp_path / "notes"))
        assert done.exit_code == 0, done.output
        return (tmp_path / "notes" / f"{ALONE}.md").read_text()

    assert "--submission" not in written()  # there is no mistake to show
    wrong, file = kit.solution_folder(ALONE) / "wrong", KERNEL_FILES[language]
    wrong.mkdir()
    shutil.copy(kit.lab_folder(ALONE) / file, wrong / f"x{Path(file).suffix}")
    entry = '[[submission]]\nname = "x"\nmistake = "It is serial."\nfails = ["shared_out"]\n'
    table = f'{entry}says = "of compute"\nlanguages = '
    (wrong / "wrong.toml").write_text(f'{table}["{language}"]\n')
    words = written().split()
    assert words[words.index("--submission") - 1] == language
    (wrong / "wrong.toml").write_text(f'{table}["{OTHER[language]}"]\n')
    with raises_text(NumalabError):
        read_mistakes(kit, load_labs(kit.root)[ALONE])


def test_a_kernel_in_the_other_language_is_not_read(
    kit: Installation, kit_root: Path, language: Language
) -> None:
    lab, other = load_labs(kit.root)[ALONE], KERNEL_FILES[OTHER[language]]
    shutil.copy(kit_root / "labs" / LIKE / other, kit.lab_folder(ALONE))
    assert lab.unread_kernels(kit.lab_folder(ALONE)) == [other]
    assert not load_labs(kit.root)[LIKE].unread_kernels(kit.lab_folder(ALONE))
    (kit.lab_folder(ALONE) / KERNEL_FILES[language]).unlink()
    build = _missing(kit, lab, kit.lab_folder(ALONE), language)
    assert build.status == "missing"
    check_text(build.message)


def test_cmake_and_lab_toml_name_the_same_languages(
    labs: dict[str, Lab], installation: Installation
) -> None:
    words = {"c": "C", "fortran": "Fortran"}
    for lab in labs.values():
        path = installation.grading_folder(lab.name) / "CMakeLists.txt"
        after = path.read_text().partition("LANGUAGES")[2].replace(")", " ").split()
        count = len(lab.languages)
        assert after[:count] == [words[one] for one in lab.languages], path
        assert not {*after[count : count + 1]} & {*words.values()}, path
