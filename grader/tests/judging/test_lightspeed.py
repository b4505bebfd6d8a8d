"""Percent of lightspeed: what it is, what it is not, and that no verdict depends on it unless
lab.toml asks. All records are invented."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from support import invented
from support.golden_texts import check_verdict

from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.read_record import parse, run_of
from numalab.evidence.record import HANDOUT, PROBE, SOLUTION, SUBMISSION, Json
from numalab.evidence.repeats import numalab_failures, outcomes, why_again
from numalab.judging.judge import judge
from numalab.judging.planner import Timed, extra_roles, timing_roles, timing_spent
from numalab.judging.rates import MAX_SHARE, ReferenceShare, TimedRates, reference_share
from numalab.judging.sequential import CAREFUL, QUICK
from numalab.judging.timing_account import add_timing, timing_accounts
from numalab.judging.verdict import CriterionVerdict, Verdict
from numalab.labs.declaration import Criterion, Lab, ReferenceLoop

Times = list[dict[str, float]]
EXITED = {"status": "exited", "exit_code": 7, "printed": "", "printed_bytes": 0}


def timed(times: Times, quick: bool = False, may_fail: bool = True) -> Json:
    """A record whose probe, where there is one, is beside the others."""
    made = invented.evidence(invented.TWO_NODES, times=times, quick=quick)
    for run in made["runs"]:
        for role in run.get("roles", []):
            if role["role"] == PROBE and may_fail:
                role["may_fail"] = True
    return made


def probes(record: Json) -> list[Json]:
    roles = (role for run in record["runs"] for role in run.get("roles", []))
    return [role for role in roles if role["role"] == PROBE]


def alike(count: int, **times: float) -> Times:
    return [dict(times) for _ in range(count)]


def rates(lab: Lab, record: Json) -> TimedRates:
    evidence = parse(record)
    (account, *_) = timing_accounts(lab, judge(lab, evidence), evidence)
    assert account.rates is not None
    return account.rates


def share(lab: Lab, record: Json, role: str = SUBMISSION) -> ReferenceShare | None:
    rate = rates(lab, record).rate_of(role)
    assert rate is not None
    return rate.reference_share


# ---- the figure ------------------------------------------------------------------------


def test_a_share_is_the_probes_time_over_the_others(first_touch: Lab) -> None:
    record = timed(alike(12, handout=0.5, solution=0.25, submission=0.32, probe=0.24))
    for role, expected in ((HANDOUT, 0.48), (SOLUTION, 0.96), (SUBMISSION, 0.75)):
        found = share(first_touch, record, role)
        assert found is not None
        assert found.median == pytest.approx(expected)
        assert found.low == pytest.approx(expected)
        assert found.high == pytest.approx(expected)
    probe = rates(first_touch, record).rate_of(PROBE)
    assert probe is not None
    assert probe.reference_share is None
    assert probe.elapsed_s.median == pytest.approx(0.24 * 1.02)


def test_its_interval_is_that_of_ratios_within_generations(first_touch: Lab) -> None:
    """The node is twice as slow in every other generation: both are, and their ratio is steady."""
    times = [
        {"handout": 0.5 * slow, "solution": 0.25 * slow, "submission": 0.25 * slow,
         "probe": 0.24 * slow}
        for slow in (1.0, 2.0) * 6
    ]  # fmt: skip
    found = share(first_touch, timed(times))
    assert found is not None
    assert found.low == pytest.approx(found.high) == pytest.approx(0.96)


def test_only_generations_with_a_probe_are_asked(first_touch: Lab) -> None:
    with_probe = alike(5, handout=0.5, solution=0.25, submission=0.25, probe=0.2)
    without = alike(7, handout=0.5, solution=0.25, submission=0.25, control=0.25)
    quick = share(first_touch, timed(with_probe + without, quick=True))
    assert quick == ReferenceShare(*(pytest.approx(0.8),) * 3, 5)  # type: ignore[arg-type]
    careful = share(first_touch, timed(with_probe + without))
    assert careful == ReferenceShare(pytest.approx(0.8), None, None, 5)  # type: ignore[arg-type]


def test_above_105_percent_it_is_not_known(first_touch: Lab) -> None:
    def of(probe_s: float) -> ReferenceShare | None:
        times = alike(12, handout=0.5, solution=0.25, submission=0.2, probe=probe_s)
        return share(first_touch, timed(times))

    just = of(0.2 * MAX_SHARE)
    assert just is not None
    assert just.median == pytest.approx(MAX_SHARE)
    assert of(0.2 * MAX_SHARE + 0.001) == ReferenceShare(None, None, None, 12)


def test_an_end_above_105_percent_is_left_open() -> None:
    times = [{"submission": 0.2, "probe": 0.2 * ratio} for ratio in (0.9, 0.95, 1.0, 1.1, 1.2) * 4]
    found = reference_share(SUBMISSION, parse(timed(times)).runs_of(TIMED_ROUND), QUICK)
    assert found is not None
    assert found.median == pytest.approx(1.0)
    assert found.low is not None
    times = [{"submission": 0.2, "probe": 0.2 * ratio} for ratio in (0.9, 1.0, 1.0, 1.0, 1.2)]
    found = reference_share(SUBMISSION, parse(timed(times)).runs_of(TIMED_ROUND), QUICK)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(0.9), None)


def test_who_was_cut_off_is_known_from_above_only(first_touch: Lab) -> None:
    record = timed(alike(12, handout=0.5, solution=0.25, submission=0.25, probe=0.25))
    for run in record["runs"]:
        if run["kind"] == "generation":
            invented.cut_off(run, 2.55)
    found = share(first_touch, record)
    assert found is not None
    assert found.median == pytest.approx(0.1)
    assert found.low is None
    assert found.high == pytest.approx(0.1)


def test_records_without_a_probe_have_none(first_touch: Lab) -> None:
    record = timed(alike(12, handout=0.5, solution=0.25, submission=0.25))
    assert share(first_touch, record) is None
    assert not rates(first_touch, record).has_reference_shares
    evidence = parse(record)
    verdict = judge(first_touch, evidence)
    told = add_timing(verdict.json_data(), timing_accounts(first_touch, verdict, evidence))
    timings = [entry["timing"] for entry in told["criteria"] if "timing" in entry]
    assert timings
    assert all(role["of_lightspeed"] is None for t in timings for role in t["rates"]["roles"])


# ---- no verdict depends on it ------------------------------------------------------------


def fail(record: Json) -> None:
    for role in probes(record):
        role["outcome"] = EXITED


def give_wrong(record: Json) -> None:
    for role in probes(record):
        role["results"] = role["results"] | {"mismatches": 3}


def leave(record: Json) -> None:
    assert probes(record)


@pytest.mark.parametrize("spoil", [leave, fail, give_wrong])
@pytest.mark.parametrize("submission_s", [0.23, 0.3, 0.5, 3.0])
def test_a_verdict_is_the_same_with_and_without_a_probe(
    first_touch: Lab, submission_s: float, spoil: Callable[[Json], None]
) -> None:
    draw = random.Random(5)
    times = [
        {role: s * draw.uniform(0.9, 1.1) for role, s in
         {"handout": 0.44, "solution": 0.23, "submission": submission_s}.items()}
        for _ in range(14)
    ]  # fmt: skip
    beside = [one | {"probe": draw.choice((0.001, 0.2, 50.0))} for one in times]
    record = timed(beside)
    spoil(record)
    assert judge(first_touch, parse(record)) == judge(first_touch, parse(timed(times)))


@pytest.mark.parametrize("spoil", [fail, give_wrong])
def test_a_probe_that_failed_says_nothing(first_touch: Lab, spoil: Callable[[Json], None]) -> None:
    record = timed(alike(12, handout=0.44, solution=0.23, submission=0.23, probe=0.2))
    spoil(record)
    assert share(first_touch, record) is None
    assert all(PROBE not in g.roles and g.ok for g in parse(record).runs_of(TIMED_ROUND))


def test_the_rest_of_a_generation_counts_where_only_the_probe_failed() -> None:
    (run,) = [r for r in timed(alike(1, solution=1.0, submission=1.0, probe=1.0))["runs"]
              if r["kind"] == "generation"]  # fmt: skip
    for status in ("timed_out", "bad_protocol", "crashed", "obstructed", "kit_error"):
        run["roles"][-1]["outcome"] = EXITED | {"status": status}
        kept = run_of(run)
        assert [outcome.status for outcome in outcomes(kept)] == ["ok", "ok"]
        assert why_again(TIMED_ROUND, kept) is None
        assert numalab_failures(kept) == []
    run["roles"][-1]["outcome"] = EXITED | {"status": "cancelled"}
    assert [outcome.status for outcome in outcomes(run_of(run))] == ["ok", "ok", "cancelled"]
    del run["roles"][-1]["may_fail"]
    run["roles"][-1]["outcome"] = EXITED
    assert msgspec.to_builtins(numalab_failures(run_of(run))) == [EXITED]


# ---- where lab.toml asks -------------------------------------------------------------------


@pytest.fixture
def asks(first_touch: Lab) -> Lab:
    """Lab 01 with its efficiency held against the probe, and no other time."""

    def changed(criterion: Criterion) -> Criterion:
        if criterion.rule != "efficiency":
            return criterion
        return replace(criterion, at_least=None, at_least_of_lightspeed=0.8)

    criteria = tuple(changed(c) for c in first_touch.criteria if c.rule != "speedup")
    return replace(first_touch, criteria=criteria, lightspeed=(ReferenceLoop(None, 2.0),))


def efficiency(verdict: Verdict) -> CriterionVerdict:
    return next(c for c in verdict.criteria if c.name == "efficiency")


def judged(lab: Lab, times: Times) -> CriterionVerdict:
    return efficiency(judge(lab, parse(timed(times, may_fail=False))))


def test_it_is_decided_by_the_same_signs_without_a_solution(asks: Lab) -> None:
    passed = judged(asks, alike(11, submission=0.24, probe=0.2))
    assert passed.value == pytest.approx(0.2 / 0.24)
    assert passed.at_least == 0.8
    check_verdict(passed, "pass", "reached")
    assert judged(asks, alike(5, submission=0.24, probe=0.2)).cause == "not_decided"
    failed = judged(asks, alike(20, submission=0.26, probe=0.2))
    assert (failed.status, failed.cause) == ("fail", "too_slow")


def test_of_as_many_signs_the_same_is_said_of_probe_and_solution(
    asks: Lab, first_touch: Lab
) -> None:
    """Only who it is held against is another: the rule, and so its risk, is the same."""
    draw = random.Random(11)
    for _ in range(20):
        count, speed = draw.randint(3, 30), draw.choice((0.7, 0.8, 0.9))
        drawn = [draw.gauss(0, 0.1) for _ in range(count)]
        own = [{"submission": 0.2 / speed * (1 + d)} for d in drawn]
        by_probe = judged(asks, [one | {"probe": 0.2} for one in own])
        solution = [one | {"solution": 0.2, "handout": 0.2} for one in own]
        by_solution = efficiency(judge(first_touch, parse(timed(solution))))
        assert (by_probe.status, by_probe.cause) == (by_solution.status, by_solution.cause)
        assert by_probe.interval == by_solution.interval


def test_then_the_probe_is_needed_and_is_all_that_is(asks: Lab, first_touch: Lab) -> None:
    evidence = parse(timed([]))
    assert timing_roles(asks, evidence, Timed(None)) == (PROBE, SUBMISSION)
    assert extra_roles(asks, Timed(None), (PROBE, SUBMISSION)) == ()
    roles = timing_roles(first_touch, evidence, Timed(None))
    assert PROBE not in roles
    assert extra_roles(first_touch, Timed(None), roles) == (PROBE,)
    assert extra_roles(first_touch, Timed(None), ()) == ()


def test_then_a_probe_that_is_wrong_or_fails_is_the_kits_fault(asks: Lab) -> None:
    for spoil in (fail, give_wrong):
        record = timed(alike(11, submission=0.24, probe=0.2), may_fail=False)
        spoil(record)
        found = efficiency(judge(asks, parse(record)))
        assert (found.status, found.cause) == ("error", "kit")


def test_then_the_control_is_of_the_probe(asks: Lab) -> None:
    """Fast in one process and slow in the next, beside a probe that is as fast in both."""
    times = [
        {"submission": 0.2 if number % 2 else 0.4, "probe": 0.2, "control": 0.201}
        for number in range(40)
    ]
    assert judged(asks, times).cause == "unstable"


def test_then_its_time_is_held_against_the_probes(asks: Lab) -> None:
    record = timed(alike(2, submission=100.0, probe=0.2), may_fail=False)
    for run in record["runs"]:
        for role in run.get("roles", []):
            role["taken_s"] = {"submission": 900.0, "probe": 1.0}[role["role"]]
    spending = timing_spent(asks, parse(record), Timed(None))
    assert (spending.replicates, spending.hogging, spending.reference_s) == (2, 2, 2.0)
    assert spending.excess_s == 1798.0


def test_a_share_is_told_there_too(asks: Lab) -> None:
    record = timed(alike(11, submission=0.24, probe=0.2), may_fail=False)
    found = share(asks, record)
    assert found is not None
    assert found.median == pytest.approx(0.2 / 0.24)
    assert [rate.role for rate in rates(asks, record).roles] == [SUBMISSION, PROBE]
    assert CAREFUL.confidence == pytest.approx(rates(asks, record).confidence)
