"""Times with two sides: not faster than a chain of loads can be, and not slower than one. On
invented generations; the stated risks in draws whose truth is known."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict

from numalab.evidence.read_record import parse
from numalab.evidence.record import Evidence
from numalab.judging.judge import judge
from numalab.judging.planner import Timed, timing_is_decided
from numalab.judging.sequential import CAREFUL, QUICK, e_value, least_signs
from numalab.judging.timing_account import timing_accounts
from numalab.judging.timing_rules import judge_timing
from numalab.judging.timing_state import TimingState, timing_state
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Criterion, Lab
from numalab.reports.timing_plot import timing_lines

Times = list[dict[str, float]]
SOLUTION_S = 0.02


def evidence(times: Times, quick: bool = False) -> Evidence:
    return parse(invented.evidence(invented.ONE_NODE, times=times, quick=quick))


@pytest.fixture(scope="module")
def chain(labs: dict[str, Lab]) -> Criterion:
    """As the lab has it, on records that know no parts."""
    found = next(c for c in labs["00_know_your_node"].criteria if c.rule == "chain")
    assert (found.at_least, found.at_most) == (0.9, 1.25)
    return replace(found, part=None)


def taking(*ratios: float, count: int = 30) -> Times:
    """Generations in which the submission took so many times the solution's time, in turns; the
    control, a twin of the solution, joins with the twelfth."""
    return [
        {
            "solution": SOLUTION_S,
            **({"control": 1.01 * SOLUTION_S} if number > 10 else {}),
            "submission": ratios[number % len(ratios)] * SOLUTION_S,
        }
        for number in range(count)
    ]


def judged(chain: Criterion, times: Times, quick: bool = False) -> CriterionVerdict:
    return judge_timing(chain, evidence(times, quick))


# ---- both sides -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "status", "cause"),
    [
        (0.05, "fail", "too_fast"),
        (0.5, "fail", "too_fast"),
        (0.89, "fail", "too_fast"),
        (0.91, "pass", "reached"),
        (1.0, "pass", "reached"),
        (1.24, "pass", "reached"),
        (1.26, "fail", "too_slow"),
        (2.0, "fail", "too_slow"),
        (500.0, "fail", "too_slow"),
    ],
)
@pytest.mark.parametrize("quick", [True, False])
def test_it_is_within_the_band_or_out_on_one_side(
    chain: Criterion, ratio: float, status: str, cause: str, quick: bool
) -> None:
    found = judged(chain, taking(ratio), quick)
    assert (found.status, found.cause) == (status, cause)
    assert found.value == pytest.approx(ratio)


def test_a_fail_takes_twice_the_evidence(chain: Criterion) -> None:
    """Since two claims can be shown not; a pass has to show both, and takes no more."""
    for levels, quick in ((QUICK, True), (CAREFUL, False)):
        for ratio in (0.5, 2.0):
            state = timing_state(chain, evidence(taking(ratio), quick))
            assert state.needed == least_signs(2 * levels.e_to_fail)
            assert state.needed > least_signs(levels.e_to_fail)
        state = timing_state(chain, evidence(taking(1.0), quick))
        assert (state.outcome, state.needed) == ("pass", least_signs(levels.e_to_pass))


def test_either_side_alone_is_no_pass(chain: Criterion) -> None:
    """Never too slow, and now just long enough, now not."""
    state = timing_state(chain, evidence(taking(0.85, 0.95)))
    assert state.claim.reached == "above" and state.floor is not None
    assert state.floor.claim.reached is None and state.outcome is None
    state = timing_state(chain, evidence(taking(1.2, 1.3)))
    assert state.floor is not None and state.floor.claim.reached == "above"
    assert state.claim.reached is None and state.outcome is None


def test_what_noise_throws_out_on_both_sides_is_not_failed(chain: Criterion) -> None:
    """In two of three generations out of the band; but neither more often too fast than not, nor
    too slow. The kit's own second process fares no better, so it is the node."""
    times = [
        one | ({"control": one["submission"] * 1.02} if "control" in one else {})
        for one in taking(0.7, 1.6, 1.0, 1.6, 0.7, 1.0, count=60)
    ]
    found = judged(chain, times)
    assert (found.status, found.cause) == ("inconclusive", "too_noisy")


def test_now_fast_now_slow_beside_a_steady_twin_is_unstable(chain: Criterion) -> None:
    found = judged(chain, taking(0.5, 2.0, count=60))
    assert (found.status, found.cause) == ("fail", "unstable")


def test_too_few_generations_leave_it_open(chain: Criterion) -> None:
    for ratio in (0.5, 1.0, 2.0):
        found = judged(chain, taking(ratio, count=3), quick=True)
        assert (found.status, found.cause) == ("inconclusive", "not_decided")


def test_a_second_try_is_won_on_neither_side(chain: Criterion) -> None:
    record = invented.evidence(invented.ONE_NODE, times=taking(1.0, count=8))
    for run in record["runs"]:
        if run["kind"] == "generation":
            run["second_try"] = True
    state = timing_state(chain, parse(record))
    assert state.floor is not None
    assert state.signs == state.floor.signs == (False,) * 8
    assert state.missed == state.floor.missed == (False,) * 8
    assert state.outcome is None


def test_who_was_stopped_took_long_enough_where_that_is_known(chain: Criterion) -> None:
    record = invented.evidence(invented.ONE_NODE, times=taking(1.0, count=3))
    replicates = [run for run in record["runs"] if run["kind"] == "generation"]
    for run, ratio in zip(replicates, (10.0, 1.0, 0.5), strict=True):
        invented.cut_off(run, ratio * SOLUTION_S)
    state = timing_state(chain, parse(record))
    assert state.floor is not None
    assert state.signs == (False, None, None)
    assert state.floor.signs == (True, True, None)


# ---- its risk -------------------------------------------------------------------------------


def drawn(generator: random.Random, count: int, median: float, noise: float) -> Times:
    """Ratios whose logarithms scatter alike around a median."""
    return [
        {"solution": 0.2, "submission": 0.2 * median * math.exp(generator.gauss(0, noise))}
        for _ in range(count)
    ]


def _ends(chain: Criterion, median: float, noise: float, trials: int) -> list[TimingState]:
    generator = random.Random(11)
    return [
        timing_state(chain, evidence(drawn(generator, 40, median, noise), quick=True))
        for _ in range(trials)
    ]


@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("median", [0.9, 1.25])
def test_just_at_a_limit_it_passes_no_more_often_than_stated(
    chain: Criterion, median: float, noise: float
) -> None:
    """At most 1 in 20, quick. Of 120 draws 13 or more come up with less than 1 in 100 at that rate;
    the seed is fixed."""
    ends = _ends(chain, median, noise, 120)
    assert sum(end.outcome == "pass" for end in ends) <= 12
    # And fails no more often, of a kernel that is not on the far side of the limit.
    assert sum(end.outcome == "fail" for end in ends) <= 12


@pytest.mark.parametrize("noise", [0.1, 0.6])
def test_a_twin_of_the_solution_is_not_failed(chain: Criterion, noise: float) -> None:
    """However noisy the node is: noise is no side."""
    ends = _ends(chain, 1.0, noise, 60)
    assert not [end for end in ends if end.outcome == "fail"]
    assert noise > 0.1 or sum(end.outcome == "pass" for end in ends) > 45


def test_losses_of_the_two_sides_share_the_risk() -> None:
    """No generation is lost on both. So of signs in which each side is lost with a chance of 1/2,
    the worst that the claims allow, the first to reach 2 to_fail is wrong with 1/to_fail at most:
    counted by going through all of them."""
    e_to_fail, most = QUICK.e_to_fail, 16
    alive, wrong = {(0, 0): 1.0}, 0.0
    for count in range(1, most + 1):
        after: dict[tuple[int, int], float] = {}
        for (slow, fast), share in alive.items():
            for lost in ((slow + 1, fast), (slow, fast + 1)):
                after[lost] = after.get(lost, 0.0) + share / 2
        alive = {}
        for lost, share in after.items():
            if max(e_value(side, count) for side in lost) >= 2 * e_to_fail:
                wrong += share
            else:
                alive[lost] = share
    assert 0.02 < wrong <= 1 / e_to_fail


# ---- what it says ---------------------------------------------------------------------------


def test_each_side_says_what_it_comes_from(chain: Criterion) -> None:
    fast, slow = judged(chain, taking(0.4)), judged(chain, taking(1.6))
    check_verdict(fast, "fail", "too_fast")
    check_verdict(slow, "fail", "too_slow")
    for found in (fast, slow):
        assert found.interval is not None
        low, high = found.interval
        assert low is not None and high is not None and found.value is not None
        assert low <= found.value * 1.0001 and found.value <= high * 1.0001


def test_it_is_told_in_nanoseconds_per_step_where_steps_are_counted(chain: Criterion) -> None:
    record = invented.evidence(invented.ONE_NODE, times=taking(1.1))
    for run in record["runs"]:
        if run["kind"] == "generation":
            run["loads_in_chain"] = 200_000
    found = judge_timing(chain, parse(record))
    # The best repetition that counts takes 2 % longer than the first.
    check_verdict(found, "pass", "reached")


def test_a_chain_that_the_caches_hold_is_told(chain: Criterion) -> None:
    """2^24 elements of 8 bytes: 128 MiB."""
    record = invented.evidence(invented.ONE_NODE, times=taking(1.0))
    large = {"level": "3", "count": 1, "bytes_each": 480 << 20}
    for each, is_told in ((large, True), (large | {"count": 16, "bytes_each": 32 << 20}, False)):
        record["node"]["caches"] = [{"level": "2", "count": 8, "bytes_each": 2 << 20}, each]
        for run in record["runs"]:
            if run["kind"] == "generation":
                run["n"] = 1 << 24
        found = judge_timing(chain, parse(record))
        assert found.status == "pass"
        assert ("480.0 MiB, can hold the whole chain, 128.0 MiB" in found.why) == is_told


@pytest.mark.parametrize(
    "ratio",
    [0.4, 0.95, 1.2],
)
def test_the_side_that_was_harder_to_show_is_drawn(
    labs: dict[str, Lab], chain: Criterion, ratio: float
) -> None:
    lab = replace(labs["00_know_your_node"], criteria=(chain,))
    seen = evidence(taking(ratio, count=12))
    accounts = timing_accounts(lab, judge(lab, seen), seen)
    text = "\n".join(line.plain for line in timing_lines(lab, accounts, seen, 76))
    check_text(" ".join(text.split()))
    assert "Asked for: 0.9 to 1.25 times the solution's time." in text
    word = "slow enough" if ratio < 1 else "fast enough"
    mark = "x too fast" if ratio < 0.9 else f"o {word}"
    assert mark in " ".join(text.split())


def test_its_account_has_both_sides(labs: dict[str, Lab], chain: Criterion) -> None:
    lab = replace(labs["00_know_your_node"], criteria=(chain,))
    for ratio, stopped in ((1.0, "decided"), (0.4, "decided"), (1.6, "decided")):
        seen = evidence(taking(ratio))
        assert timing_is_decided(lab, seen, Timed(None))
        (account,) = timing_accounts(lab, judge(lab, seen), seen)
        assert account.stopped_because == stopped
        told = account.json_data()
        assert told["threshold"] == {"to_pass": 100.0, "to_fail": 2000.0}
        assert told["floor"]["margins"] == pytest.approx([ratio / 0.9] * 30)
        assert told["margins"] == pytest.approx([1.25 / ratio] * 30)
        assert told["floor"]["signs"] == [ratio > 0.9] * len(told["floor"]["e_for"])
