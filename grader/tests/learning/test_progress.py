"""What a learner has reached, and what comes next."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.commands import numalab_command
from support.desks import make_desk
from support.invented import SOME_CAUSE
from support.mpi_labs import LATENCY_LAB, lab_of

from numalab.grading.file_choice import edited_languages
from numalab.installation import Installation
from numalab.judging.verdict import Status, Verdict, read_verdict, verdict_on
from numalab.labs.declaration import Lab
from numalab.learning.progress import (
    LearnerProgress,
    Result,
    aside_path,
    is_damaged,
    is_done,
    is_own_work,
    keep_result,
    load_progress,
    next_task,
    result_of,
    save_progress,
)
from numalab.learning.progress_report import progress_json, show_progress
from numalab.terminal import make_console

AT = datetime(2026, 1, 2, 12, tzinfo=UTC)


def verdict(lab: Lab, language: str = "c", rest: Status = "pass", **statuses: Status) -> Verdict:
    """Of a learner's kernel: criteria by name, and the status of all others."""
    given = {c.name: statuses.get(c.name, rest) for c in lab.criteria}
    criteria = tuple(
        verdict_on(c, given[c.name], SOME_CAUSE[given[c.name]], "") for c in lab.criteria
    )
    return Verdict(lab.name, language, "submission", criteria)


def result(lab: Lab, rest: Status = "pass", **more: Any) -> Result:
    facts: dict[str, Any] = {"quick": False, "is_untimed": False, "machines": None}
    facts |= {key: more.pop(key) for key in list(more) if key in facts}
    return result_of(lab, verdict(lab, "c", rest, **more), AT, **facts)


@pytest.fixture
def messages(tmp_path: Path) -> Lab:
    return lab_of(tmp_path, "31_messages", LATENCY_LAB)


# ---- a result ------------------------------------------------------------------------------


def test_points_over_what_could_be_graded(first_touch: Lab) -> None:
    found = result(first_touch, local_pages="not_gradable", efficiency="fail")
    assert (found.points, found.gradable_points, found.max_points) == (7, 8, 10)
    assert found.left_out == () and not found.is_done
    assert found.having("fail") == ["efficiency"]
    assert result(first_touch, speedup="not_gradable").is_done


def test_times_that_were_not_asked_for_are_left_out(first_touch: Lab) -> None:
    untaken: dict[str, Status] = {"speedup": "not_gradable", "efficiency": "not_gradable"}
    found = result(first_touch, is_untimed=True, **untaken)
    assert found.left_out == ("speedup", "efficiency") and not found.is_done
    assert result(first_touch, is_untimed=False, **untaken).is_done


def test_what_other_machines_would_show_is_left_out(messages: Lab) -> None:
    """A placement that is right on one machine may be wrong on the next."""
    messages_on = messages.machines
    assert result(messages, machines=messages_on).is_done
    partly = result(messages, machines=[])
    assert partly.left_out == ("near", "far")
    assert partly.points == messages.max_points - 2 == partly.gradable_points
    failed = result(messages, machines=[], near="fail")
    assert failed.left_out == ("far",) and failed.having("fail") == ["near"]


def test_more_points_are_better_and_then_more_that_was_looked_at(first_touch: Lab) -> None:
    part = result(first_touch, "not_gradable", is_untimed=True, correct="pass")
    whole = result(first_touch, "not_gradable", correct="pass", efficiency="fail")
    assert part.points == whole.points
    assert whole.is_better_than(part) and not part.is_better_than(whole)
    best = result(first_touch)
    assert best.is_better_than(whole) and best.is_better_than(None)
    assert not best.is_better_than(best), "the earlier date stays"
    assert best.is_better_than(result(first_touch, quick=True))


def test_the_best_stays_and_the_last_failures_are_known(first_touch: Lab) -> None:
    name = first_touch.name
    progress = LearnerProgress().add_result(name, "c", result(first_touch, efficiency="fail"), True)
    progress = progress.add_result(name, "c", result(first_touch, correct="fail"), True)
    assert progress.best[name]["c"].having("fail") == ["efficiency"]
    assert progress.failed[name] == ("correct",)


def test_an_interrupted_grading_is_a_beginning(
    first_touch: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    name = first_touch.name
    cut = verdict(first_touch, "c", "inconclusive", correct="pass")
    kept = result_of(
        first_touch, cut, AT, quick=False, is_untimed=False, machines=None, interrupted=True
    )
    earlier = LearnerProgress(failed={name: ("correct",)})
    progress = earlier.add_result(name, "c", kept, True)
    assert progress.failed == earlier.failed, "what fails is not known yet"
    show_progress(make_console(), [first_touch], progress, {})
    said = " ".join(capsys.readouterr().out.split())
    assert "interrupted:" in said and "more" in said and "not begun" not in said
    # Of as many points what was looked at in full, with its failures.
    whole = result(first_touch, "fail", correct="pass")
    assert whole.points == kept.points
    assert whole.is_better_than(kept) and not kept.is_better_than(whole)


def test_a_hint_is_a_beginning(labs: dict[str, Lab], capsys: pytest.CaptureFixture[str]) -> None:
    every = list(labs.values())
    read = {every[2].name: {"": 1}}
    task = next_task(every, LearnerProgress(), read)
    assert task is not None and task.lab == every[2].name and task.what.startswith("go on with")
    read = {every[2].name: {every[2].hints[0].topic: 1}}
    show_progress(make_console(), every, LearnerProgress(), read)
    out = capsys.readouterr().out
    assert out.count("not begun") == len(every) - 1 and out.count("begun, not graded") == 1


# ---- whose work it is ----------------------------------------------------------------------


@pytest.fixture
def desk(installation: Installation, tmp_path: Path) -> Installation:
    return make_desk(installation, tmp_path)


def add_line(path: Path) -> None:
    path.write_text(path.read_text() + "\n")


def test_a_handout_is_no_progress(desk: Installation, first_touch: Lab) -> None:
    found = verdict(first_touch, touched_where_used="fail")
    keep_result(desk, first_touch, found, result(first_touch, touched_where_used="fail"))
    kept = load_progress(desk.progress_file)
    assert kept.results_of(first_touch) == {}
    assert kept.failed == {first_touch.name: ("touched_where_used",)}


def test_an_edited_kernel_is(desk: Installation, first_touch: Lab) -> None:
    add_line(desk.lab_folder(first_touch.name) / "kernel.f90")
    assert edited_languages(desk, first_touch) == ["fortran"]
    for language in first_touch.languages:
        keep_result(desk, first_touch, verdict(first_touch, language), result(first_touch))
    assert list(load_progress(desk.progress_file).results_of(first_touch)) == ["fortran"]


def test_files_beside_a_kernel_count_for_it(desk: Installation, labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    folder = desk.lab_folder(lab.name)
    assert not is_own_work(desk, lab, "c")
    add_line(folder / "omp_close.env")
    assert is_own_work(desk, lab, "c") and is_own_work(desk, lab, "fortran")
    add_line(folder / "kernel.c")
    assert is_own_work(desk, lab, "c") and not is_own_work(desk, lab, "fortran")
    (folder / "kernel.c").unlink()
    assert not is_own_work(desk, lab, "c")


# ---- the file ------------------------------------------------------------------------------


def test_it_is_read_as_it_was_written(first_touch: Lab, tmp_path: Path) -> None:
    store = tmp_path / "build" / "progress.json"
    progress = LearnerProgress().add_result(first_touch.name, "c", result(first_touch), True)
    save_progress(store, progress)
    assert load_progress(store) == progress


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 2}', "\x00\xff"])
def test_a_damaged_file_is_kept_aside(first_touch: Lab, tmp_path: Path, content: str) -> None:
    store = tmp_path / "progress.json"
    store.write_bytes(content.encode("latin-1"))
    assert is_damaged(store) and load_progress(store) == LearnerProgress()
    progress = LearnerProgress().add_result(first_touch.name, "c", result(first_touch), True)
    save_progress(store, progress)
    assert load_progress(store) == progress
    assert aside_path(store).read_bytes() == content.encode("latin-1")


@pytest.mark.parametrize(
    ("key", "value"),
    [("graded_at", "yesterday"), ("points", "many"), ("statuses", {"correct": "perfect"}),
     ("statuses", None), ("left_out", 3)],
)  # fmt: skip
def test_a_damaged_entry_costs_itself_only(
    first_touch: Lab, tmp_path: Path, key: str, value: Any
) -> None:
    progress = LearnerProgress()
    for language in first_touch.languages:
        progress = progress.add_result(first_touch.name, language, result(first_touch), True)
    data = progress.json_data()
    data["best"][first_touch.name]["c"][key] = value
    store = tmp_path / "progress.json"
    store.write_text(json.dumps(data))
    assert list(load_progress(store).results_of(first_touch)) == ["fortran"]


# ---- what comes next -----------------------------------------------------------------------


def test_what_comes_next(labs: dict[str, Lab]) -> None:
    every = list(labs.values())[1:]
    one, two = every[:2]
    begin = next_task(every, LearnerProgress())
    assert begin is not None and begin.lab == one.name and begin.language is None
    assert "begin: read labs/01_first_touch/README.md" in begin.what

    progress = LearnerProgress().add_result(one.name, "fortran", result(one), True)
    after = next_task(every, progress)
    assert after is not None and after.lab == two.name

    progress = progress.add_result(two.name, "c", result(two, omp_close="fail"), True)
    fix = next_task(every, progress)
    assert fix is not None
    assert (fix.lab, fix.language, fix.criterion) == (two.name, "c", "omp_close")
    assert [command for command, _ in fix.commands] == [
        "./numalab hint 02 omp_close", "./numalab watch 02 --lang c",
    ]  # fmt: skip

    read = next_task(every, progress, {two.name: {"omp_close": 9}})
    assert read is not None
    assert [command for command, _ in read.commands] == [
        "cat solutions/02_affinity/README.md", "./numalab watch 02 --lang c",
    ]  # fmt: skip

    # What was worked on last comes before what is not begun, and before what was begun earlier.
    later = replace(result(every[3], "fail"), graded_at="2026-01-03T00:00:00+00:00")
    task = next_task(every, progress.add_result(every[3].name, "c", later, True))
    assert task is not None and task.lab == every[3].name

    progress = LearnerProgress()
    for lab in every:
        progress = progress.add_result(lab.name, "c", result(lab), True)
    assert next_task(every, progress) is None
    assert all(is_done(progress.results_of(lab)) for lab in every)


def test_the_hint_follows_what_is_wrong(
    labs: dict[str, Lab], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hybrid = labs["07_hybrid"]
    wrong = tuple(
        verdict_on(c, "fail", "missed", "", began_in="residual" if c.name == "correct" else "")
        for c in hybrid.criteria
    )
    found = read_verdict(Verdict(hybrid.name, "c", "submission", wrong).json_data())
    assert found.began_in == {"correct": "residual"}
    kept = result_of(hybrid, found, AT, quick=False, is_untimed=False, machines=None)
    store = tmp_path / "progress.json"
    save_progress(store, LearnerProgress().add_result(hybrid.name, "c", kept, True))
    progress = load_progress(store)
    assert progress.began_in == {hybrid.name: {"correct": "residual"}}
    for seen, command in (
        ({"exchange_halo": 9}, "./numalab hint 07 residual"),
        ({"residual": 9}, "cat solutions/07_hybrid/README.md"),
    ):
        task = next_task([hybrid], progress, {hybrid.name: seen})
        assert task is not None and task.commands[0][0] == command
    show_progress(make_console(), [hybrid], progress, {hybrid.name: {"residual": 9}})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    what = next(n for n, line in enumerate(lines) if "cat solutions" in line)
    assert lines[what + 1].startswith(" " * lines[what].index("all hints")), "wrapped below itself"


def test_what_is_open_or_left_out_is_graded_again(first_touch: Lab) -> None:
    for found, says in (
        (result(first_touch, efficiency="inconclusive"), "efficiency stayed open"),
        (result(first_touch, is_untimed=True, speedup="not_gradable"), "speedup was left out"),
    ):
        task = next_task([first_touch], LearnerProgress({first_touch.name: {"c": found}}))
        assert task is not None and says in task.what
        assert task.commands[0][0] == "./numalab grade 01 --lang c"


def test_criteria_that_a_lab_no_longer_has_are_forgotten(first_touch: Lab) -> None:
    found = result(first_touch)
    older = replace(found, statuses={**found.statuses, "gone": "fail"})
    assert LearnerProgress({first_touch.name: {"c": older}}).results_of(first_touch)["c"].is_done


# ---- the command ---------------------------------------------------------------------------


def test_the_table_fits_80_columns(
    labs: dict[str, Lab], capsys: pytest.CaptureFixture[str]
) -> None:
    every = list(labs.values())[1:]
    progress = LearnerProgress()
    for lab in every[1:]:
        for language in lab.languages:
            progress = progress.add_result(lab.name, language, result(lab, "fail"), True)
    hints = {every[1].name: {"locate": 2, "omp_full": 1}, every[0].name: {"": 9}}
    show_progress(make_console(), every, progress, hints)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    first = next(n for n, line in enumerate(lines) if line.startswith("02_affinity"))
    assert lines[first].split()[1:6] == ["C", "0", "of", "10", "2026-01-02"]
    state = " ".join(lines[first].split()[7:] + lines[first + 1].split())
    assert lines[first].split()[6] == "3", "hints"
    assert state == "to fix: correct and 9 more"
    assert "Next: 02_affinity, C: fix kernel.c, correct fails." in lines
    data = progress_json(every, progress, hints)
    assert data["labs"][0]["hints_seen"] == data["labs"][0]["hints"] == 3
    assert data["next"]["lab"] == every[1].name


def test_the_command_survives_a_damaged_file(
    desk: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    desk.progress_file.write_text("{")
    path = tmp_path / "out.json"
    done = numalab_command(desk, "progress", "--json", str(path))
    assert done.code == 0
    assert "can't be read" in done.err and "progress.json.damaged" in done.said
    assert "not begun" in done.out and f"0 of {len(labs)} labs done" in done.out
    results = [lab["results"] for lab in json.loads(path.read_text())["labs"]]
    assert results == [[]] * len(labs)
    assert desk.progress_file.read_text() == "{", "nothing was graded, nothing is written"
