"""Why timing stopped, in sentences: the figures in them, and that each state has its own."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from support import invented
from support.golden_texts import check_text
from support.invented import ONE_NODE, TWO_NODES

from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence, Json, LeftOut
from numalab.judging.judge import judge
from numalab.judging.sequential import CAREFUL, QUICK, Decision
from numalab.judging.timing_account import TimingAccount, timing_accounts
from numalab.labs.declaration import Lab
from numalab.reports.timing_words import (
    Named,
    asked_words,
    evidence_words,
    heading_words,
    names,
    scale_words,
    sentences,
)

NAMED = Named("your kernel", "the handout")


def facts(text: str) -> list[str]:
    return re.findall(r"<?\d[\d.,]*\d|\d", text)


def accounts(lab: Lab, record: Json) -> tuple[dict[str, TimingAccount], Evidence]:
    evidence = parse(record)
    found = timing_accounts(lab, judge(lab, evidence), evidence)
    return {account.criterion.name: account for account in found}, evidence


def steady(count: int = 8, quick: bool = False, **times: float) -> Json:
    of_roles = {"handout": 0.44, "solution": 0.23, "submission": 0.23} | times
    return invented.evidence(TWO_NODES, times=invented.steady(count, **of_roles), quick=quick)


@pytest.fixture(scope="module")
def speedup(first_touch: Lab) -> tuple[TimingAccount, Evidence]:
    found, evidence = accounts(first_touch, steady())
    return found["speedup"], evidence


def told(account: TimingAccount, evidence: Evidence) -> list[str]:
    return list(sentences(account, NAMED, evidence, *scale_words(account)))


def with_state(account: TimingAccount, **more: Any) -> TimingAccount:
    return replace(account, state=replace(account.state, **more))


def decided(
    reached: Literal["above", "below"] | None, signs: int, wins: int, losses: int | None = None
) -> Decision:
    return Decision(reached, signs, wins, signs - wins if losses is None else losses)


@pytest.mark.parametrize(
    ("value", "words"),
    [(10.0, "10"), (9.99, "9.9"), (0.1, "0.1"), (0.19, "0.1"), (0.0999, "<0.1"), (1234.9, "1,234")],
)
def test_evidence_is_rounded_down(value: float, words: str) -> None:
    assert evidence_words(value) == words


@pytest.mark.parametrize(
    ("variant", "owner"),
    [("submission", "your"), ("handout", "the handout's"), ("solution", "the solution's")],
)
def test_what_is_timed_is_called_by_whose_it_is(
    first_touch: Lab, labs: dict[str, Lab], speedup: tuple[TimingAccount, Evidence], variant: str,
    owner: str,
) -> None:  # fmt: skip
    account, evidence = speedup
    evidence = replace(evidence, variant=variant)
    assert names(first_touch, account, evidence) == Named(
        f"{owner} kernel", account.criterion.baseline_text
    )
    launch = replace(account, criterion=replace(account.criterion, slow="compared/x.toml"))
    assert names(first_touch, launch, evidence) == Named(f"{owner} launch", "x.toml")
    assert names(labs["02_affinity"], account, evidence).graded == f"{owner} placement"


def test_what_is_asked_for_has_its_figures(first_touch: Lab) -> None:
    found, _ = accounts(first_touch, steady())
    speedup, efficiency = found["speedup"], found["efficiency"]
    assert facts(asked_words(speedup, NAMED))[-3:] == ["1", "1.89", "1.07"]
    assert facts(asked_words(efficiency, NAMED)) == ["0.80"]
    assert asked_words(replace(speedup, required=None), NAMED) == ""
    noisy = [
        {"handout": 0.44 if g % 3 == 0 else 0.2, "solution": 0.23, "submission": 0.23}
        for g in range(12)
    ]
    lost, _ = accounts(first_touch, invented.evidence(TWO_NODES, times=noisy))
    assert lost["speedup"].is_effect_lost
    assert facts(asked_words(lost["speedup"], NAMED)) == ["0.87", "1.15"]


def of_rule(account: TimingAccount, rule: str, is_floor: bool, **more: Any) -> Any:
    told = {"rule": rule, "required_share": None, "at_least": None, "at_most": None, "slow": None}
    criterion = SimpleNamespace(**(told | {"at_least_of_lightspeed": None} | more))
    return SimpleNamespace(
        criterion=criterion, side=SimpleNamespace(is_floor=is_floor), required=account.required,
        is_effect_lost=False,
    )  # fmt: skip


def test_a_scale_is_of_what_is_compared(speedup: tuple[TimingAccount, Evidence]) -> None:
    account, _ = speedup
    units = [
        scale_words(of_rule(account, rule, is_floor, **more))
        for rule, is_floor, more in (
            ("efficiency", False, {"required_share": 0.8}), ("efficiency", False, {}),
            ("chain", True, {"at_least": 0.9, "at_most": 1.25}), ("chain", True, {}),
            ("chain", False, {"at_least": 0.9, "at_most": 1.25}), ("chain", False, {}),
            ("speedup", False, {}),
        )
    ]  # fmt: skip
    assert [unit for unit, _ in units] == [0.8, 1.0, 0.9, 1.0, 0.8, 1.0, 1.0]
    assert [of.split()[-1] for _, of in units] == [
        "speed", "speed", "time", "time", "speed", "speed", "for",
    ]  # fmt: skip
    floor, ceiling = (
        asked_words(of_rule(account, "chain", is_floor, at_least=0.9, at_most=1.25), NAMED)
        for is_floor in (True, False)
    )
    assert facts(floor) == facts(ceiling) == ["0.9", "1.25"]
    assert "faster" in floor and "slower" in ceiling


def test_each_status_has_its_heading(speedup: tuple[TimingAccount, Evidence]) -> None:
    account, _ = speedup
    heads = [
        heading_words(replace(account, verdict=replace(account.verdict, status=s, cause=cause)))
        for s, cause in invented.SOME_CAUSE.items()
    ]
    assert len(set(heads)) == 5
    assert all(head.startswith("speedup: ") and facts(head) == ["8"] for head in heads)
    one = with_state(account, margins=account.state.margins[:1])
    assert heading_words(one).endswith("after 1 generation")


def test_what_decided_is_told_with_its_level(speedup: tuple[TimingAccount, Evidence]) -> None:
    account, evidence = speedup
    interval, level, why, effect = told(account, evidence)
    assert facts(interval)[-1] == "95"
    assert facts(level) == ["145", "1", "145"]
    assert facts(why) == ["100", "1", "100", "1,000"]
    assert facts(effect) == ["1.15", "8", "8"]
    failed = with_state(account, outcome="fail")
    assert facts(told(failed, evidence)[2]) == ["1,000", "1", "1,000", "100"]
    hurried = replace(evidence, quick=True)
    quick = with_state(account, thresholds=QUICK)
    assert facts(told(quick, hurried)[2])[:4] == ["20", "1", "20", "100"]
    assert facts(told(with_state(quick, outcome="fail"), hurried)[2])[3] == "1,000"
    twice = replace(QUICK, e_to_fail=2 * QUICK.e_to_fail)
    of_two = with_state(quick, outcome="fail", thresholds=twice)
    assert facts(told(of_two, hurried)[2])[3] == "2,000"
    assert CAREFUL.e_to_fail == 1000


def test_evidence_for_and_against_are_told(speedup: tuple[TimingAccount, Evidence]) -> None:
    account, evidence = speedup

    def second(decision: Decision) -> str:
        return told(with_state(account, decisions=(decision,)), evidence)[1]

    assert facts(second(decided("above", 8, 8))) == ["145", "1", "145"]
    below = second(decided("below", 8, 0))
    assert facts(below) == ["145", "1", "145"] and below != second(decided("above", 8, 8))
    assert facts(second(decided(None, 4, 2))) == ["0.1", "0.1"]
    good, bad = second(decided(None, 5, 5)), second(decided(None, 5, 0))
    assert facts(good) == ["21", "0.1", "21", "1", "21"]
    assert facts(bad) == ["0.1", "21", "21", "1", "21"]
    assert "<" not in good and account.side.good in good.split("If ")[1]
    assert account.side.bad in bad.split("If ")[1]


@pytest.mark.parametrize(
    ("because", "more", "has", "count"),
    [
        ("not_gradable", {}, ["1.15", "8", "8", "<0.1", "1,000"], 1),
        ("interrupted", {}, [], 3),
        ("undecided", {"decisions": (decided("below", 9, 1),)}, ["240", "60", "1.15", "8", "8"], 3),
        ("undecided", {"decisions": (decided(None, 9, 5),)}, ["240", "60"], 3),
    ],
)  # fmt: skip
def test_each_end_has_its_figures(
    speedup: tuple[TimingAccount, Evidence], because: Any, more: Any, has: list[str], count: int
) -> None:
    account, evidence = speedup
    ended = with_state(replace(account, stopped_because=because), outcome=None, **more)
    said = told(ended, evidence)
    assert len(said) == count
    assert facts(said[-1])[: len(has)] == has


def test_the_control_says_whose_fault_it_is(speedup: tuple[TimingAccount, Evidence]) -> None:
    account, evidence = speedup

    def last(control: Decision, unsteady: Decision, **more: Any) -> str:
        ended = with_state(
            replace(account, stopped_because="undecided"), outcome=None, control=control,
            unsteady=unsteady, decisions=(decided(None, 9, 5),), **more,
        )  # fmt: skip
        return told(ended, evidence)[-1]

    none = last(decided(None, 0, 0), decided(None, 0, 0))
    undecided = last(decided(None, 7, 4), decided("above", 6, 5))
    near = last(decided("above", 7, 7), decided(None, 6, 5))
    unstable = last(decided("above", 7, 7), decided("above", 6, 5))
    assert len({none, undecided, near, unstable}) == 4
    assert facts(none) == ["240", "60"]
    assert facts(undecided) == ["240", "60", "4", "7"]
    assert facts(near) == facts(unstable) == ["240", "60", "7", "7", "5", "6", "2"]
    check_text(near)
    check_text(unstable)


def test_what_came_later_and_what_is_left_out_is_counted(
    speedup: tuple[TimingAccount, Evidence],
) -> None:
    account, evidence = speedup

    def out(why: Any, paused_s: float = 0.0) -> LeftOut:
        return LeftOut("generation", "submission", None, None, why, paused_s, False)

    later = with_state(account, needed=5)
    assert facts(told(later, evidence)[-1]) == ["3"]
    assert len(told(with_state(later, outcome=None), evidence)) == 3
    paused = replace(account, left_out=(out("paused", 1.25), out("paused", 0.5)))
    assert facts(told(paused, evidence)[-1]) == ["2", "1.2"]
    both = replace(paused, left_out=(*paused.left_out, out("disturbed")))
    assert [facts(said) for said in told(both, evidence)[-2:]] == [["2", "1.2"], ["1"]]
    open_effect = with_state(account, effect=decided(None, 4, 2))
    lost = with_state(account, effect=decided("below", 8, 0))
    effects = [told(one, evidence)[3] for one in (account, open_effect, lost)]
    assert len({said.split(":")[0] for said in effects} - {"None"}) == 3
    assert [facts(said)[1:] for said in effects] == [["8", "8"], ["2", "4"], ["0", "8"]]


def test_what_the_verdict_says_is_not_said_again(
    first_touch: Lab, speedup: tuple[TimingAccount, Evidence]
) -> None:
    account, evidence = speedup
    verdict = replace(account.verdict, why="Far Too slow.")
    for because in ("too_slow", "cut_too_early", "implausible"):
        ended = replace(account, verdict=verdict, stopped_because=because)  # type: ignore[arg-type]
        check_text(told(with_state(ended, outcome=None), evidence)[-1])
    failed = replace(account, verdict=verdict, stopped_because="error")
    check_text(told(with_state(failed, outcome=None), evidence)[-1])
    assert accounts(first_touch, invented.evidence(ONE_NODE))[0] == {}, "nothing was timed"
