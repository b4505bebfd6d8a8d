"""Sentences, pictures and counts: pure functions for people's eyes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from support import invented
from support.golden_texts import check_text
from support.invented import SOME_CAUSE

from numalab import words
from numalab.commands.test import count_tests
from numalab.evidence.read_record import parse
from numalab.evidence.run_formats import FirstMismatch
from numalab.grading.handed_files import not_utf8
from numalab.harness.build import compiler_output, stage
from numalab.harness.interface import Argument, prototypes
from numalab.harness.kernel_texts import is_other_language, misnamed_kernels, misspelt_directives
from numalab.harness.monitor import worker_environment
from numalab.installation import find_installation
from numalab.judging import explain
from numalab.judging.printed_words import warning_words
from numalab.judging.verdict import CriterionVerdict, Status, Warned
from numalab.labs.declaration import KERNEL_FILES, Lab, choose_labs, load_lab
from numalab.reports import latency_report
from numalab.reports.touch_map import touch_map_picture
from numalab.reports.verdict_words import CriterionRow, bound_words

ROOT = find_installation("gnu").root


def test_percentages_are_100_only_when_all() -> None:
    assert [words.percent(x) for x in (0, 0.001, 0.999, 1)] == [
        "0 %",
        "under 1 %",
        "over 99 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (2.0, 1.0),
        (8.2322601, 8.2322602),
        (1.0, 1.0 + 2**-52),
        (-4180940116.0, 456109436.0),
        (2.0**63, -1.0),
        (math.nan, 1.0),
    ],
)
def test_values_are_told_apart(found: float, expected: float) -> None:
    wrong = FirstMismatch(
        array="e", element=3, expected=expected, actual=found, phase="one", repetition=0
    )
    check_text(explain.mismatch(wrong, "c"))


def test_whole_numbers_have_all_their_digits() -> None:
    """Where a float, in which records have values, leaves some out."""
    wrong = FirstMismatch(
        array="reached",
        element=1,
        expected=0.0,
        actual=1.1936128518282651e19,
        phase="chase",
        repetition=0,
        expected_digits="0",
        actual_digits="11936128518282651045",
    )
    check_text(explain.mismatch(wrong, "fortran"))
    for path in sorted(ROOT.glob("labs/**/driver.c")):  # who casts loses them
        assert not re.search(r"numalab_mismatch\)\{[^}]*\(double\)", path.read_text()), path


@pytest.mark.parametrize(
    ("value", "digits", "says"),
    [
        (0.12345, 3, "0.123"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (1234.0, 3, "1,234"),
        (12345.6, 4, "12,346"),
        (1e7, 9, "10000000"),
        (-2048.0, 3, "-2,048"),
        (math.inf, 3, "inf"),
        (math.nan, 3, "nan"),
        (1e300, 3, "1e+300"),
    ],
)
def test_counts_are_no_powers_of_ten(value: float, digits: int, says: str) -> None:
    assert words.short(value, digits) == says


def test_numbers_are_shortened_in_one_place() -> None:
    """What a format leaves out of a count nobody misses until somebody has a machine that large."""
    source = ROOT / "grader" / "src" / "numalab"
    keeps = {"words.py", "variants.py"}  # one defines it; the other writes TOML
    for path in source.rglob("*.py"):
        found = re.search(r":\.[0-9]+g\}", path.read_text())
        assert found is None or path.name in keeps, (path, found)


def test_suite_counts_each_kind(tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    report.write_text(
        "<testsuites><testsuite><testcase/><testcase><failure/></testcase>"
        "<testcase><error/></testcase><testcase><skipped/></testcase></testsuite></testsuites>"
    )
    assert count_tests([report]) == (1, 2, 1)


@pytest.mark.parametrize("noun", ["thread", "answer", "rank", "fault"])
@pytest.mark.parametrize(("value", "ending"), [(1.0, ""), (2.0, "s")])
def test_one_is_counted_in_the_singular(noun: str, value: float, ending: str) -> None:
    found = CriterionVerdict(
        "x", "evidence", "fail", "missed", "", 0, 1, value, at_most=0, unit=f"{noun}s"
    )
    assert bound_words(found) == f"{value:.0f} {noun}{ending}"


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (0.95, {"at_least": 0.95}),
        (0.949, {"at_least": 0.95}),
        (3.0, {"at_most": 3.0}),
        (3.5, {"at_most": 3.0}),
        (3.00001, {"at_most": 3.0}),
        (3.000001, {"at_most": 3.0}),
    ],
)
def test_a_figure_within_its_bounds_is_not_what_is_open(
    value: float, bounds: dict[str, float]
) -> None:
    found = CriterionVerdict(
        "x", "evidence", "inconclusive", "not_decided", "", 0, 1, value, unit="steps", **bounds
    )
    check_text(bound_words(found))


# ---- building ----------------------------------------------------------------


def test_compiler_output_is_short_and_names_the_students_file() -> None:
    said = (
        "[1/2] Building C object x\nFAILED: x\ngcc -c /b/k.c\n/b/k.c:1: error: no\nninja: stopped"
    )
    check_text(compiler_output(said, {"/b/k.c": "kernel.c"}))
    long = compiler_output("\n".join(f"line {i}" for i in range(40)), {}).splitlines()
    assert len(long) == 25
    check_text(long[-1])


def test_an_error_is_not_hidden_behind_warnings() -> None:
    warnings = [f"kernel.f90:{i}: Warning: tab" for i in range(1, 40)]
    place = ["kernel.f90:50:4:", "   50 | x", "      |    1"]
    said = "\n".join([*warnings, *place, "Error: no IMPLICIT type", *warnings])
    lines = compiler_output(said, {}).splitlines()
    assert place[0] in lines
    check_text(lines[:5])
    assert len(lines) == 25
    check_text(lines[-1])


@pytest.mark.parametrize(
    ("language", "meant"),
    [
        ("c", ["Kernel.C", "kernel", "kernel.c.txt", "mine.c"]),
        ("fortran", ["kernel", "kernel.F90", "kernel.f", "kernel.f90.txt", "kernel.f95~"]),
    ],
)
def test_a_kernel_of_another_name_is_suggested_in_its_language(
    tmp_path: Path, language: str, meant: list[str]
) -> None:
    for name in (
        "Kernel.C", "driver.c", "first_touch.h", "kernel", "kernel.F90", "kernel.c", "kernel.c.txt",
        "kernel.f", "kernel.f90", "kernel.f90.txt", "kernel.f95~", "kernel.mod", "kernel.o",
        "mine.c", "phases.c",
    ):  # fmt: skip
        (tmp_path / name).touch()
    (tmp_path / "folder.c").mkdir()
    (tmp_path / "folder.f90").mkdir()
    assert misnamed_kernels(tmp_path, language) == meant
    assert misnamed_kernels(tmp_path / "none", language) == []


def test_a_kernel_in_the_other_language_is_seen(kit_root: Path, labs: dict[str, Lab]) -> None:
    for lab in labs.values():
        for language in lab.languages:
            path = kit_root / "solutions" / lab.name / KERNEL_FILES[language]
            (other,) = KERNEL_FILES.keys() - {language}
            assert is_other_language(path.read_text(), other), path
            assert not is_other_language(path.read_text(), language), path
    assert not is_other_language("no language at all", "c")


def test_a_file_that_is_not_in_utf_8_is_told_its_line() -> None:
    with pytest.raises(UnicodeDecodeError) as found:
        "ranks = 2\n# für\n".encode("latin-1").decode()
    check_text(not_utf8(found.value))


def test_a_file_that_is_gone_is_not_graded_from_before(tmp_path: Path) -> None:
    source, staged = tmp_path / "kernel.c", tmp_path / "staged" / "kernel.c"
    source.write_text("one")
    assert stage(source, staged)
    assert staged.read_text() == "one"
    source.unlink()
    assert not stage(source, staged)
    assert not staged.exists()


def test_prototypes_are_read_from_a_header(kit_root: Path) -> None:
    found = prototypes((kit_root / "labs/01_first_touch/first_touch.h").read_text())
    assert found["initialize"] == [
        Argument("n", "size_t", 0),
        Argument("a", "float", 1),
        Argument("b", "float", 1),
        Argument("c", "float", 1),
    ]
    assert [a.name for a in found["compute"]] == ["n", "a", "b", "c"]


def test_which_arguments_fit() -> None:
    n = Argument("n", "size_t", 0)
    assert n.fits(Argument("n", "long", 0))
    assert not n.fits(Argument("n", "int", 0))
    assert not n.fits(Argument("n", "size_t", 1))
    assert not n.fits(Argument("n", "double", 0))
    assert not Argument("a", "float", 1).fits(Argument("a", "int", 1))
    assert not Argument("a", "float", 1).fits(Argument("a", "double", 1))
    assert not Argument("table", "void", 1).fits(Argument("table", "void", 2))
    assert not Argument("a", "one_type", 1).fits(Argument("a", "another_type", 1))


# ---- what surrounds a measurement -----------------------------------------------


def test_nothing_that_steers_openmp_is_inherited(
    first_touch: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_SCHEDULE", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "LD_PRELOAD"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/kept")
    found = worker_environment(first_touch, 6)
    assert found["OMP_NUM_THREADS"] == "6"
    assert found["OMP_PLACES"] == "cores"
    assert found["OMP_PROC_BIND"] == "spread"
    assert found["OMP_DYNAMIC"] == "false"
    assert found["LD_LIBRARY_PATH"] == "/kept"
    assert not {"OMP_SCHEDULE", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "LD_PRELOAD"} & found.keys()
    assert found["OMP_WAIT_POLICY"] == "passive"


# ---- the touch map as a picture ---------------------------------------------------


def test_touch_map_picture() -> None:
    lines = touch_map_picture(parse(invented.evidence(invented.ONE_NODE)), 65)
    plain = [line.plain for line in lines]
    check_text(plain[0])
    assert plain[1] == "a, b, c first written by " + "0" * 19 + "1" * 19
    assert plain[2] == "        used by          " + "0" * 19 + "1" * 19
    assert len(lines) == 3


def test_touch_map_picture_says_that_not_all_pages_were_traced() -> None:
    record = invented.evidence(invented.ONE_NODE)
    whole = [line.plain for line in touch_map_picture(parse(record), 65)]
    invented.sample(record, every=29)
    plain = [line.plain for line in touch_map_picture(parse(record), 65)]
    assert plain[:3] == whole
    check_text(plain[3:])


def test_touch_map_picture_of_nobody_and_several() -> None:
    record = invented.evidence(
        invented.ONE_NODE, writer=lambda owner, page: -1, users=lambda owner, page: [0, 1]
    )
    plain = [line.plain for line in touch_map_picture(parse(record), 65)]
    assert plain[1].endswith("." * 38)
    assert plain[2].endswith("*" * 38)
    check_text(plain[-1].strip())


def test_touch_map_picture_of_mixed_pages() -> None:
    record = invented.evidence(invented.ONE_NODE, writer=lambda owner, page: page % 2)
    plain = [line.plain for line in touch_map_picture(parse(record), 65)]
    assert plain[1].endswith("~" * 38)
    assert plain[2].endswith("0" * 19 + "1" * 19)
    check_text(plain[-1].strip())


def test_openmp_lines_that_are_comments_are_named() -> None:
    source = "!$omp parallel do\n! omp parallel do\n!omp do\n!$opm end\n! a comment\ncall f\n"
    prose = "! mop up what is left\n! OMP threads share it\f\n"
    notes = misspelt_directives(f"{source}{prose}!omp end do\n", "fortran")
    assert [note.split(":")[0] for note in notes] == ["line 2", "line 3", "line 4", "line 9"]
    assert misspelt_directives(source, "c") == []


def test_touch_map_picture_of_several_nodes_shows_nodes() -> None:
    record = invented.evidence(invented.TWO_NODES, writer=invented.master_writes)
    plain = [line.plain for line in touch_map_picture(parse(record), 65)]
    check_text(plain[0])
    assert plain[1].endswith("0" * 38)
    assert plain[2].endswith("0" * 19 + "1" * 19)


def test_touch_map_picture_tells_of_its_two_runs() -> None:
    record = invented.evidence(
        invented.TWO_NODES, writer=lambda owner, page: owner, users=lambda owner, page: [0, 7]
    )
    plain = [line.plain for line in touch_map_picture(parse(record), 65, with_homes=True)]
    notes = [line.strip() for line in plain[4:]]
    check_text(notes[0])
    check_text(" ".join(notes[1:]))
    assert all(len(line) <= 65 for line in plain)


def test_a_runtimes_warning_is_told_once() -> None:
    far = Warned("libomp", "OMP: Warning #192: no such domain.  Using granularity=core instead")
    bad = Warned("libgomp", "Invalid value")
    assert warning_words(()) == ""
    both = f" libomp said: {far.words}. libgomp said: Invalid value."
    assert warning_words((far, bad)) == both
    check_text(warning_words((far, bad), {far.words}))
    alike = (Warned("libomp", "No"), Warned("libgomp", "No"))
    check_text(warning_words(alike))
    check_text(warning_words((bad, far), {far.words}))


# ---- labs ---------------------------------------------------------------------------


def test_a_lab_is_chosen_once_by_any_of_its_names(labs: dict[str, Lab]) -> None:
    for name in ("1", "01", "01_first_touch", "first_touch", "labs/01_first_touch/"):
        assert [lab.name for lab in choose_labs(labs, [name])] == ["01_first_touch"], name
    assert len(choose_labs(labs, ["01", "01_first_touch"])) == 1
    assert choose_labs(labs, []) == list(labs.values())


def test_the_lab_as_declared(kit_root: Path) -> None:
    lab = load_lab(kit_root / "labs/01_first_touch")
    assert lab.max_points == 10
    assert {c.name: c.points for c in lab.criteria} == {
        "correct": 2, "shared_out": 1, "touched_where_used": 2, "local_pages": 2, "speedup": 2,
        "efficiency": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "status",
    [
        "pass",
        "fail",
        "not_gradable",
    ],
)
def test_other_places_with_the_same_status_are_named(status: Status) -> None:
    found = CriterionVerdict("x", "evidence", status, SOME_CAUSE[status], "", 0, 1)
    check_text(CriterionRow(found, ("a", "b"), "0/1").where_too)
    assert CriterionRow(found, (), "0/1").where_too == ""


@pytest.mark.parametrize(
    ("size", "says"),
    [(1023, "1023 B"), (1024, "1 KiB"), (2**20 - 1, "1023 KiB"), (2**20, "1 MiB")],
)
def test_sizes_of_messages_in_words(size: int, says: str) -> None:
    assert latency_report._size(size) == says
