"""What a beginner reads: help, errors, and the words of a report."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console
from support import invented
from support.commands import numalab_command
from support.invented import SOME_CAUSE
from support.mpi_labs import HYBRID_LAB, LATENCY_LAB, PREDICTION, lab_of, node_of, session

from numalab.commands import shared
from numalab.commands.root import cli
from numalab.commands.shared import progress_line
from numalab.errors import wrapped
from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import CriterionVerdict, Status, Warned, merge_machine
from numalab.labs.declaration import Lab
from numalab.reports import report, verdict_words
from numalab.reports.rate_words import duration
from numalab.terminal import kept_together, stripped

Json = dict[str, Any]


def shown(lab: Lab, record: Json, unchanged: bool = False) -> str:
    """The report of a session of this node."""
    evidence = parse(record)
    console = Console(file=io.StringIO(), width=80)
    verdict = judge(lab, evidence)
    seen = [("here", evidence)]
    accounts = timing_accounts(lab, verdict, evidence)
    report.show_verdict(console, GradedKernel(lab, verdict, seen, accounts, unchanged, "again"))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.fixture
def messages(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "31_messages", LATENCY_LAB)


@pytest.fixture
def hybrid(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "32_hybrid", HYBRID_LAB)


@pytest.mark.parametrize("case", invented.cases())
def test_a_report_fits_80_columns(first_touch: Lab, case: str) -> None:
    text = shown(first_touch, invented.cases()[case])
    assert max(map(len, text.splitlines())) <= 80


def test_the_table_of_a_lab_on_memory_fits_80_columns(labs: dict[str, Lab]) -> None:
    """With the longest words that it can have."""
    table = {
        "n": 2**27, "bytes": 2**30, "huge_bytes": 2**30 - 2**12, "create_s": 0.1,
        "initialize_s": 12.345, "compute_s": 2.3, "initialize_page_faults": 262_144,
        "resident_before_bytes": 0, "resident_during_bytes": 2**30, "resident_after_bytes": 2**30,
        "address_space_before_bytes": 0, "address_space_after_bytes": 2**30 + 2**21,
    }  # fmt: skip
    lab = labs["04_huge_pages"]
    runs = [
        {"kind": "memory", "lab": lab.name, "part": None, "team": 2, "role": role,
         "results": invented.RIGHT, "huge_pages_allowed": True, "tables": [table, table],
         "outcome": invented.OK}
        for role in ("handout", "solution", "submission")
    ]  # fmt: skip
    noisy = [{"handout": 22.0 if g % 2 else 3.0, "solution": 2.0, "submission": 2.0}
             for g in range(9)]  # fmt: skip
    record = invented.evidence(invented.ONE_NODE, times=noisy, variant="solution")
    record["runs"] = record["runs"][:1] + runs + record["runs"][5:]
    record["node"]["huge_page_mode"] = "madvise"
    text = shown(lab, record)
    assert "A table of 1.0 GiB, times noisy" in text
    assert max(map(len, text.splitlines())) <= 80


# ---- help ----------------------------------------------------------------------------------


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, ...]]:
    """Every command that is not hidden."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command, name
        if not command.hidden:
            yield (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


def test_every_command_has_help_with_examples_in_80_columns() -> None:
    found = list(commands(cli))
    assert {("machine", "show"), ("setup",), ("watch",)} <= set(found)
    for words in found:
        done = CliRunner().invoke(cli, [*words, "--help"], prog_name="numalab")
        assert done.exit_code == 0
        assert "Example" in done.output and f"./numalab {' '.join(words)}" in done.output, words
        for line in done.output.splitlines():
            assert len(line) <= 80, line


# ---- errors --------------------------------------------------------------------------------


def test_errors_fit_80_columns_and_a_path_stays_whole() -> None:
    path = "/home/student/" + "deep/" * 20 + "kernel.c"
    told = wrapped(f"numalab: {'a word ' * 20}{path} is not there")
    assert path in told.splitlines()
    assert all(len(line) <= 80 for line in told.splitlines() if line != path)


def test_without_a_command_there_is_help_and_no_error(installation: Installation) -> None:
    for arguments in ((), ("machine",)):
        done = numalab_command(installation, *arguments)
        assert done.code == 2
        assert done.err.startswith("Usage: numalab") and done.err.count("Usage:") == 1
        assert "Error" not in done.err


def test_a_long_step_leaves_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    terminal = Console(file=stream, width=60, force_terminal=True, color_system=None)
    monkeypatch.setattr(shared, "make_console", lambda is_stderr=False: terminal)
    with progress_line("03_scheduling Fortran your kernel") as progress:
        progress("stream_update: timing, generation 5 of 5 or more, and more still")
    lines = [line for line in re.split(r"[\r\n]|\x1b\[[0-9;?]*[A-Za-z]", stream.getvalue()) if line]
    long = [line for line in lines if "stream_update" in line]
    assert long and all(re.search(r"\d:\d\d:\d\d ", line) for line in long)
    assert max(map(len, long)) <= 60


def test_what_another_program_said_keeps_its_marks() -> None:
    short = "kernel.c:1:1: error: no\n    1 | int  x\n      |       ^"
    assert wrapped(f"numalab: can't be built:\n{short}") == f"numalab: can't be built:\n{short}"
    long = f"kernel.c:1:1: error: {'long ' * 30}\n    1 | int  x\n      |       ^"
    lines = wrapped(f"numalab: can't be built:\n{long}").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-2:] == ["    1 | int  x", "      |       ^"]


def test_misuse_is_told_with_the_nearest_name(installation: Installation) -> None:
    for arguments, says in (
        (["garde", "01"], "Did you mean 'grade'?"),
        (["grade", "--quik"], "Did you mean '--quick'?"),
        (["machine", "shwo", "hydra"], "Did you mean 'show'?"),
        (["grade", "01_first_tuch"], "Did you mean 01_first_touch?"),
    ):
        done = numalab_command(installation, *arguments)
        assert done.code == 2 and says in done.said
        assert max(map(len, done.err.splitlines())) <= 80


# ---- a report ------------------------------------------------------------------------------


def test_the_compilers_words_fit_a_terminal_and_keep_their_marks(first_touch: Lab) -> None:
    said = [
        "kernel.c: In function 'initialize':",
        f"kernel.c:8:20: error: expected ';' before '{'x' * 90}'",
        "    8 |         a[i] = 0.0f",
        "      |                    ^",
    ]
    kernel = {"status": "does_not_compile", "message": "It does not.", "output": "\n".join(said)}
    record = invented.evidence(invented.ONE_NODE) | {"build": {"kernel": kernel}}
    lines = shown(first_touch, record | {"runs": []}).splitlines()
    assert max(map(len, lines)) <= 80
    assert "    " + said[0] in lines and f"    {said[2]}\n    {said[3]}" in "\n".join(lines)
    assert "Next: fix kernel.c so that it can be built" in "\n".join(lines)


def test_a_figure_and_its_unit_stand_on_one_line() -> None:
    """Wherever the line ends."""
    for width in range(20, 60):
        console = Console(file=io.StringIO(), width=width)
        with stripped(console):
            console.print(kept_together("Of 56 % of 8.1 MiB in 12 us, 88 % of them are used."))
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert max(map(len, lines)) <= width
        assert not [line for line in lines if re.match(r" *(%|(MiB|us)\b)", line)], lines
        assert " ".join(lines) == "Of 56 % of 8.1 MiB in 12 us, 88 % of them are used."


def test_a_heading_is_broken_where_its_brackets_begin(first_touch: Lab) -> None:
    record = invented.evidence(invented.ONE_NODE)
    assert shown(first_touch, record).splitlines()[1].endswith("(1 open, 4 not gradable here)")
    record["language"] = "fortran"
    first, second, *_ = shown(first_touch, record).strip("\n").splitlines()
    assert first.endswith(" points") and len(first) <= 80
    assert second == "  (1 open, 4 not gradable here)"


def test_next_names_the_first_and_how_many_there_are(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    lab = labs["06_message_latency"]
    files = {
        "near.toml": "ranks = 2",
        "far.toml": "ranks = 2",
        "predict.toml": "time_64_kib_us = 9",
    }
    both = [
        invented.launched(f"{name}.toml", "placement", invented.job([[0, 1]], [[0, 1]]))
        for name in ("near", "far")
    ]
    checks = [
        invented.checked(part="ping_pong", synchronous=synchronous) for synchronous in (False, True)
    ]
    node = node_of(installation, "hydra")
    text = shown(lab, session(*checks, *both, files=files, node=node))
    assert (
        "Next: fix near (the first of 2 criteria that fail). A hint: ./numalab hint 06 near The "
        "text: labs/"
    ) in " ".join(text.split())
    assert "2 ranks in the wrong place. Ranks 0 and 1 may run" in " ".join(text.split())
    assert "at most 0" not in text

    wrong = invented.RIGHT | {
        "mismatches": 3,
        "first_mismatch": {"array": "a", "element": 0, "actual": 0.0, "expected": 1.0,
                           "phase": "ping_pong", "repetition": 0, "rank": 1},
    }  # fmt: skip
    broken = invented.checked({"n": 7, "ranks": 2, "results": wrong}, part="ping_pong")
    text = " ".join(shown(lab, session(broken, *both, files=files, node=node)).split())
    assert "Next: fix kernel.c, correct fails (the first of" in text
    assert "A hint: ./numalab hint 06 ping_pong The text:" in text


def next_words(lab: Lab, record: Json, **more: Any) -> str:
    evidence = parse(record)
    graded = GradedKernel(lab, judge(lab, evidence), [("here", evidence)], (), **more)
    return verdict_words.next_step(graded) or ""


def test_what_a_virtual_node_shows_is_not_called_done_without_one(first_touch: Lab) -> None:
    times = invented.steady(9, solution=0.2, control=0.2, submission=0.2)
    record = invented.evidence(invented.ONE_NODE, times=times)
    assert next_words(first_touch, record).startswith("Done: all that this node can show.")
    assert next_words(first_touch, record, no_vms=True) == (
        "Right as far as was looked at, on this node. A virtual node shows local_pages: "
        "./numalab grade 01"
    )
    variant = replace(first_touch, name="01_first_touch_variant")
    assert next_words(variant, record, no_vms=True).endswith("./numalab grade 01 --variant")
    two = invented.evidence(invented.TWO_NODES, times=invented.steady(9, **invented.FAST))
    assert next_words(first_touch, two, no_vms=True).startswith("Done: all that")


def test_a_kernel_of_another_name_beside_the_handout_is_named(first_touch: Lab) -> None:
    record = invented.evidence(invented.ONE_NODE, writer=invented.master_writes)
    told = next_words(first_touch, record, unchanged=True, not_read=["kernel.C", "mine.c"])
    assert told.startswith(
        "This is still the starting code, which earns no points. Beside it is what nobody reads, "
        "kernel.C and mine.c: the kernel has to be called kernel.c. "
        "Read labs/01_first_touch/README.md,"
    )
    assert "nobody reads" not in next_words(first_touch, record, unchanged=True)
    other = next_words(first_touch, record, unchanged=True, not_read=["kernel.F90", "kernel.cpp"])
    assert (
        "the kernel has to be called kernel.c or kernel.f90. kernel.cpp is C++, which is" in other
    )


def test_one_that_fails_is_not_counted(first_touch: Lab) -> None:
    record = invented.evidence(invented.ONE_NODE, writer=invented.master_writes)
    text = " ".join(shown(first_touch, record).split())
    assert "Next: fix touched_where_used. A hint: ./numalab hint 01 The text:" in text


def test_a_report_tells_a_runtimes_warning_once() -> None:
    said = "OMP: Warning #192: no such domain.  Using cores instead"
    warnings = (Warned("libomp", said),)
    found = [
        CriterionVerdict(
            name, "evidence", status, SOME_CAUSE[status], why, 1, 1, where=where, warnings=warnings
        )
        for name, status, why, where in (
            ("omp_spread", "pass", "2 threads.", "hydra"),
            ("omp_spread", "pass", "2 threads.", "nebula"),
            ("omp_close", "fail", "4 threads share 1 PU.", "hydra"),
            ("omp_close", "pass", "2 threads on one package.", "westmere-ex"),
        )
    ]  # fmt: skip
    told = [row.criterion.why for row in verdict_words.criterion_rows(found)]
    assert told == [
        f"2 threads. libomp said: {said}.",
        "4 threads share 1 PU. libomp gave the same warning as above.",
        "2 threads on one package. libomp gave the same warning as above.",
    ]


def test_the_legend_comes_with_the_first_map(messages: Lab, installation: Installation) -> None:
    files = {"near.toml": "ranks = 2", "far.toml": "ranks = 2", "predict.toml": ""}
    loose = invented.launched("near.toml", "placement", invented.job([[0, 1]], [[0, 1]]))
    bound = invented.launched("far.toml", "placement", invented.job([[0]], [[1]]))
    node = node_of(installation, "hydra")
    without = shown(messages, session(loose, files=files, node=node))
    assert "may run on" in without and "[ ] a core" not in without
    lines = shown(messages, session(loose, bound, files=files, node=node)).splitlines()
    legends = [number for number, line in enumerate(lines) if "[ ] a core" in line]
    assert len(legends) == 1
    assert "far.toml on this node" in lines[legends[0] + 1]
    assert lines[legends[0]].endswith("rank; . nobody; + several; - as to its left")


def on_two_machines(lab: Lab, here: Json, there: Json) -> list[verdict_words.CriterionRow]:
    """The rows of what was seen here, and alike on hydra and on nebula."""
    verdict = judge(lab, parse(here))
    for where in ("hydra", "nebula"):
        verdict = merge_machine(verdict, judge(lab, parse(there)), where, None)
    return list(verdict_words.criterion_rows(verdict.criteria))


@pytest.mark.parametrize(
    ("value", "status", "says"),
    [
        (0.8, "fail", "0.80, asked for: 0.9 or more"),
        (0.8996, "fail", "0.8996, asked for: 0.9 or more"),
        (0.8996, "inconclusive", "0.8996, asked for: 0.9 or more"),
        (0.93, "inconclusive", ""),
    ],
)
def test_no_figure_is_rounded_over_its_bound(value: float, status: Status, says: str) -> None:
    cause = SOME_CAUSE[status]
    found = CriterionVerdict("x", "evidence", status, cause, "", 0, 1, value, 0.9, unit="share")
    assert verdict_words.bound_words(found) == says


def test_what_no_place_changes_is_told_once(messages: Lab) -> None:
    files = {"near.toml": "ranks = 2", "far.toml": "ranks = 2", "predict.toml": PREDICTION}
    record = session(files=files)
    record["handed_in"][0]["complaint"] = "near.toml, line 1: no."
    far = invented.launched("far.toml", "placement", invented.job([[0]], [[1]]))
    rows = on_two_machines(messages, record, record | {"runs": [far]})
    near = [row for row in rows if row.criterion.name == "near"]
    assert [(row.criterion.where, row.where_too, row.points) for row in near] == [
        ("here", "", "0/1")
    ]
    far_rows = [row for row in rows if row.criterion.name == "far"]
    assert [(row.criterion.where, row.where_too) for row in far_rows] == [
        ("here", ""),
        ("hydra", " Passes on nebula, too."),
    ]


def test_the_same_reason_here_and_on_a_machine_is_told_once(first_touch: Lab) -> None:
    record = invented.evidence(invented.TWO_NODES)
    rows = on_two_machines(first_touch, record, record)
    (row,) = [row for row in rows if row.criterion.name == "touched_where_used"]
    assert row.criterion.where == "here"
    assert (row.points.split("/")[0], row.where_too) == ("2", " Passes on hydra and nebula, too.")


# ---- times of launches -----------------------------------------------------------------------


def of_launch(slow: str, *times: dict[str, float]) -> list[Json]:
    return [
        invented.generation(invented.TWO_NODES, one) | {"part": "launch", "slow": slow}
        for one in times
    ]


def test_what_an_iteration_takes_under_each_launch(hybrid: Lab) -> None:
    runs = [
        *of_launch("compared/newcomer.toml",
                   {"handout": 0.02, "submission": 0.002, "solution": 0.0019},
                   {"handout": 0.04, "submission": 0.003, "solution": 0.0021},
                   {"handout": 0.03, "submission": 0.0025, "solution": 0.002}),
        *of_launch("compared/flat.toml",
                   {"handout": 0.00052, "submission": 0.003, "solution": 1.5}),
    ]  # fmt: skip
    lab = replace(hybrid, repetition="an iteration")
    text = shown(lab, session(*runs, files={"launch.toml": "ranks = 1"}))
    rows = [line.split() for line in text.splitlines()]
    assert rows.count(["launch:", "an", "iteration", "takes", "time"]) == 2
    assert ["compared/newcomer.toml", "30.6", "ms"] in rows
    assert ["compared/flat.toml", "530", "us"] in rows
    assert ["yours", "2.55", "ms"] in rows
    assert ["the", "kit's", "launch", "1.53", "s"] in rows


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0123456, "12.3 ms"), (9.87e-5, "98.7 us")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
