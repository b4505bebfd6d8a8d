"""A report at a terminal: what stands in it, in which order, at which column."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text
from support import invented
from support.evidence_parts import grouped, modelled_pair, placed, with_memory
from support.golden_texts import check_text
from support.invented import ONE_NODE, SOME_CAUSE, TWO_NODES
from support.sessions import bound, session, told

from numalab.evidence.format import Build
from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence
from numalab.grading.graded import GradedKernel
from numalab.judging.judge import judge
from numalab.judging.quantities import ScoredPredictions, ScoredQuantity
from numalab.judging.verdict import CriterionVerdict, Status, Verdict
from numalab.labs.declaration import Lab
from numalab.reports.report import show_run, show_summary, show_verdict

BARE = replace(parse(invented.evidence(ONE_NODE)), runs={})
REASON = "A reason of just about sixty characters, which is told here."


def one(name: str, status: Status = "pass", points: int = 1, **more: Any) -> CriterionVerdict:
    told = {"kind": "evidence", "cause": SOME_CAUSE[status], "why": "Why.", "max_points": 1} | more
    return CriterionVerdict(name, status=status, points=points, **told)


def verdict(*criteria: CriterionVerdict, variant: str = "handout") -> Verdict:
    return Verdict("01_first_touch", "c", variant, criteria)


def console(width: int = 80) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, force_terminal=False)


def lines_of(to: Console) -> list[str]:
    return [line.rstrip() for line in to.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def shown(
    lab: Lab,
    found: Verdict,
    evidence: Evidence = BARE,
    explained: Sequence[Text] = (),
    width: int = 80,
    **more: Any,
) -> list[str]:
    to = console(width)
    show_verdict(to, GradedKernel(lab, found, [("here", evidence)], (), **more), explained)
    return lines_of(to)


# ---- criteria ----------------------------------------------------------------------------


def test_criteria_stand_in_columns(first_touch: Lab) -> None:
    found = verdict(
        one("correct", max_points=10, points=10),
        one("shared_out", "fail", 0, value=0.5, at_least=0.95, why="Whose."),
        one("local_pages", "fail", 0, value=2.0, at_most=0.0, unit="threads", where="hydra"),
        one("speedup", "not_gradable", 0, max_points=2, why=REASON),
        one("efficiency", "not_gradable", 0, max_points=2, why=REASON),
        one("more", "inconclusive", 0, why="Why."),
    )
    check_text(shown(first_touch, found, unchanged=True)[:9])


def test_a_long_reason_is_told_once(first_touch: Lab) -> None:
    long = f"{REASON}!"
    found = verdict(one("a", why=long), one("b", why=long), one("c", why=f"{long}!"))
    text = " ".join(" ".join(shown(first_touch, found)).split())
    assert text.count(long) == 2
    check_text(text)


def test_a_bound_is_bold_and_the_reason_is_not(first_touch: Lab) -> None:
    to = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    found = verdict(one("a", "fail", 0, value=0.5, at_least=0.95, unit="x"), one("b"))
    show_verdict(to, GradedKernel(first_touch, found, [("here", BARE)], ()))
    text = to.file.getvalue()  # type: ignore[attr-defined]
    check_text(text)
    assert "\x1b[1mWhy" not in text


@pytest.mark.parametrize(("width", "is_apart"), [(80, False), (75, False), (74, True)])
def test_what_is_not_decided_has_its_own_line_where_it_is_too_long(
    first_touch: Lab, width: int, is_apart: bool
) -> None:
    found = verdict(
        one("a", "inconclusive", 0), one("b", "not_gradable", 0), variant="submission"
    )  # fmt: skip
    heading = shown(first_touch, found, width=width)[1:3]
    head, note = "01_first_touch  C  your kernel  0 of 1 points", "(1 open, 1 not gradable here)"
    assert len(f"{head} {note}") <= 80
    assert heading[0] == (head if is_apart else f"{head} {note}")
    assert (heading[1] == f"  {note}") == is_apart


@pytest.mark.parametrize(
    ("variant", "unchanged", "head"),
    [("handout", True, "handout  1 of"), ("handout", False, "handout, edited  1 of"),
     ("submission", False, "your kernel  1 of"), ("solution", False, "solution  1 of")],
)  # fmt: skip
def test_an_edited_handout_is_called_so(
    first_touch: Lab, variant: str, unchanged: bool, head: str
) -> None:
    found = verdict(one("a"), variant=variant)
    heading = shown(first_touch, found, unchanged=unchanged)[1]
    assert heading.startswith(f"01_first_touch  C  {head}")


# ---- what is below them ------------------------------------------------------------------


def test_parts_follow_each_other_with_a_blank_line(first_touch: Lab) -> None:
    long = "x.c:1: " + 69 * "y"  # as long as there is room
    evidence = replace(BARE, build=Build("ok", "", f"{long}\nx.c:2: z"))
    lines = shown(
        first_touch, verdict(one("a"), variant="submission"), evidence,
        [Text("How."), Text("Why.")], taken=("k.c was read", "So was l.c"),
        explanation="One. Two.", modelled=[modelled_pair()],
    )  # fmt: skip
    blank = [number for number, line in enumerate(lines) if not line]
    parts = [lines[a + 1 : b] for a, b in zip(blank, [*blank[1:], len(lines)], strict=True)]
    assert parts[1] == ["  Warnings:", f"    {long}", "    x.c:2: z"]
    check_text(parts[2][0])
    assert parts[3:6] == [
        ["  How.", "  Why."], ["  k.c was read. So was l.c."],
        ["  Your explanation is kept with this grading (2 sentences)."],
    ]  # fmt: skip
    assert len(parts) == 7 and parts[6][0].startswith("  Done:")


def test_tables_and_pictures_have_two_columns_before_them(labs: dict[str, Lab]) -> None:
    lab = labs["04_huge_pages"]
    table = shown(lab, verdict(one("a")), with_memory(BARE))
    (head,) = [line for line in table if "4 KiB pages" in line]
    check_text(head)
    assert head.endswith("   4 KiB pages   2 MiB pages     yours")
    at = table.index(head)
    assert len(table) == at + 5 and all(table[at:]) and not table[at - 1]
    assert [line.split()[-6:] for line in table if line.startswith("    on huge pages")] == [
        ["0", "%", "100", "%", "75", "%"]
    ]
    placing = shown(labs["05_memory_policy"], verdict(one("a")), placed(BARE))
    check_text(placing)
    lines = shown(lab, verdict(one("a")), grouped(BARE))
    check_text(lines)


@pytest.mark.parametrize("why", ["", "No TOML."])
def test_predictions_stand_below_the_criteria(
    first_touch: Lab, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    one_of = ScoredQuantity("far_ms", 1.5, 1.0, 2.0, "ms", 0.5, "Near.")
    found = ScoredPredictions(0.5, (one_of, replace(one_of, name="own")), why)
    monkeypatch.setattr(GradedKernel, "predictions", property(lambda _: found))
    lines = shown(first_touch, verdict(one("a")))
    at = lines.index("  pass  a                   1/1 Why.") + 1
    assert lines[at] == "" and "0.50 of 1" in lines[at + 1]
    assert lines[at + 1].startswith("  Predictions")
    check_text(lines[at + 2 : at + 4])
    assert lines[at + 4 :] == ([f"  {why}"] if why else [])
    longer = replace(found, quantities=(replace(one_of, name="two words"),))
    monkeypatch.setattr(GradedKernel, "predictions", property(lambda _: longer))
    assert any(line.startswith("  two words  0.50  ") for line in
               shown(first_touch, verdict(one("a")), width=30))  # fmt: skip


def test_places_have_a_legend_once(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]
    record = session(
        lab.name, TWO_NODES,
        bound("kmp_close.env", "libomp", "submission", [0], [2], [4], [6]),
        bound("kmp_spread.env", "libomp", "submission", [0], [2]),
        told("submission", [(0, 0), (1, 1)]),
    )  # fmt: skip
    evidence = parse(record)
    lines = shown(lab, judge(lab, evidence), evidence)
    legend = [number for number, line in enumerate(lines) if line.startswith("  [ ] a core")]
    pictures = [number for number, line in enumerate(lines) if ".env on this node" in line]
    assert len(legend) == 1 and pictures[0] == legend[0] + 1
    titles = [line.split(": ")[1] for line in lines if ".env on this node" in line]
    assert sorted(titles) == ["FAIL", "pass"]
    assert sum(line.startswith("    package 0  node 0  [") for line in lines) == 2


def test_a_legend_stands_where_any_core_is_drawn(labs: dict[str, Lab]) -> None:
    lab = labs["02_affinity"]

    def legends(*allowed: Sequence[int]) -> int:
        run = bound("kmp_close.env", "libomp", "submission", *allowed)
        evidence = parse(session(lab.name, TWO_NODES, run))
        lines = shown(lab, judge(lab, evidence), evidence)
        return sum(line.startswith("  [ ] a core") for line in lines)

    assert legends([0], [0], [4], [6]) == 1, "with a line below on who shares a PU"
    assert legends(*[range(8)] * 4) == 0


def test_a_run_that_is_not_graded_has_no_points() -> None:
    to = console()
    show_run(to, "Seen.", verdict(one("a")), Build("does_not_compile", "", "no"))
    check_text(lines_of(to))


def test_several_verdicts_are_summed_up() -> None:
    to = console()
    show_summary(to, [verdict(one("a"))])
    assert lines_of(to) == []
    failed = replace(
        verdict(one("a", "fail", 0), one("b"), variant="submission"), language="fortran"
    )
    show_summary(to, [verdict(one("a")), replace(failed, language="fortran")])
    check_text(lines_of(to))
