"""What verdicts rest on, as a word: one of a closed list, whatever the sentence says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from support import invented
from support.golden_texts import check_verdict

from numalab.errors import NumalabError
from numalab.evidence.read_record import parse
from numalab.evidence.run_formats import Outcome
from numalab.judging.judge import judge
from numalab.judging.planner import Timed, timing_cut_s
from numalab.judging.soundness import CAUSE_OF_OUTCOME
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import (
    CAUSES,
    Cause,
    CriterionVerdict,
    Verdict,
    read_verdict,
)
from numalab.labs.declaration import Lab

ONE = invented.ONE_NODE


def judged(lab: Lab, record: invented.Json) -> dict[str, CriterionVerdict]:
    return {found.name: found for found in judge(lab, parse(record)).criteria}


def told(verdict: CriterionVerdict) -> tuple[str, str]:
    return verdict.status, verdict.cause


def without(record: invented.Json, *kinds: str) -> invented.Json:
    return record | {"runs": [run for run in record["runs"] if run["kind"] not in kinds]}


# ---- the list ----------------------------------------------------------------------


def test_the_table_has_each_cause_and_the_readme_has_the_table(kit_root: Path) -> None:
    assert set(CAUSES) == set(get_args(Cause))
    text = (kit_root / "grader" / "README.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for cause, meaning in CAUSES.items():
        statuses = ", ".join(meaning.statuses)
        assert f"| `{cause}` | {statuses} | {meaning.means} |" in rows


def test_every_end_of_a_run_has_a_cause() -> None:
    statuses = get_args(get_type_hints(Outcome)["status"])
    assert set(CAUSE_OF_OUTCOME) == set(statuses) - {"ok"}


def test_a_cause_goes_with_its_statuses_only(first_touch: Lab) -> None:
    found = judged(first_touch, invented.evidence(ONE))["correct"]
    assert told(found) == ("pass", "reached")
    assert replace(found, status="fail", cause="crashed").cause == "crashed"
    with pytest.raises(ValueError, match="'reached' is no cause of 'fail'"):
        replace(found, status="fail")


@pytest.mark.parametrize(
    ("status", "why", "cause"),
    [
        ("pass", "Right.", "reached"),
        ("inconclusive", "Interrupted before it was graded.", "interrupted"),
        ("inconclusive", "Interrupted before it was decided.", "interrupted"),
        ("inconclusive", "The node is too noisy.", "not_told"),
        ("fail", "Wrong.", "not_told"),
    ],
)
def test_verdicts_of_earlier_versions_are_read(
    first_touch: Lab, status: str, why: str, cause: str
) -> None:
    data = judge(first_touch, parse(invented.evidence(ONE))).json_data()
    data["criteria"] = data["criteria"][:1]
    del data["criteria"][0]["cause"]
    data["criteria"][0] |= {"status": status, "why": why}
    (read,) = read_verdict(data).criteria
    assert told(read) == (status, cause)


@pytest.mark.parametrize("case", invented.cases())
def test_a_verdict_keeps_its_causes(first_touch: Lab, case: str) -> None:
    verdict = judge(first_touch, parse(invented.cases()[case]))
    data = json.loads(json.dumps(verdict.json_data()))
    assert all(criterion["cause"] in CAUSES for criterion in data["criteria"])
    assert read_verdict(data) == verdict


# ---- what was never measured ---------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        (["check"], {"correct"}),
        (["trace"], {"shared_out", "touched_where_used", "local_pages"}),
        (["placement"], {"local_pages"}),
        (["generation"], {"efficiency", "speedup"}),
    ],
)
def test_what_nothing_explains_was_not_measured(
    first_touch: Lab, kinds: list[str], names: set[str]
) -> None:
    whole = invented.evidence(invented.TWO_NODES, times=invented.steady(11, **invented.FAST))
    assert {v.status for v in judged(first_touch, whole).values()} == {"pass"}
    record = without(whole, *kinds)
    for name, found in judged(first_touch, record).items():
        expected = ("inconclusive", "not_measured") if name in names else ("pass", "reached")
        assert told(found) == expected, name
        assert (found.why.startswith("Not measured") and "Grade again" in found.why) == (
            name in names
        )
        assert name not in names or found.value is None


def test_an_interrupt_explains_what_is_missing(first_touch: Lab) -> None:
    whole = invented.evidence(invented.TWO_NODES)
    record = without(whole, "trace") | {"interrupted": True}
    older = without(whole, "trace") | {"timing_error": "Interrupted before it was decided."}
    for interrupted in (record, older):
        found = judged(first_touch, interrupted)
        assert told(found["touched_where_used"]) == ("inconclusive", "interrupted")
        assert told(found["efficiency"]) == ("inconclusive", "interrupted")
        assert found["correct"].cause == "reached"
    assert parse(older).timing_error is None


@pytest.mark.parametrize(
    ("status", "signal", "cause"),
    [
        ("crashed", "SIGSEGV", "crashed"),
        ("crashed", "SIGSYS", "refused_call"),
        ("kit_error", None, "kit"),
        ("cancelled", None, "interrupted"),
    ],
)
def test_a_bad_end_explains_what_is_missing(
    first_touch: Lab, status: str, signal: str | None, cause: str
) -> None:
    record = without(invented.evidence(ONE), "trace", "placement")
    ended = {"status": status, "doing": "compute", "n": 7, "printed_bytes": 0}
    record["runs"][0]["outcome"] = ended | ({"signal": signal} if signal else {})
    found = judged(first_touch, record)
    assert found["touched_where_used"].cause == found["correct"].cause == cause


def test_wrong_results_explain_that_there_are_no_times(first_touch: Lab) -> None:
    record = invented.evidence(ONE)
    record["runs"][0]["checks"][0]["results"] = invented.RIGHT | {
        "mismatches": 1,
        "first_mismatch": {"array": "a", "element": 0, "actual": 0.0, "expected": 1.0,
                        "phase": "compute", "repetition": 0},
    }  # fmt: skip
    found = judged(first_touch, record)
    assert told(found["correct"]) == ("fail", "wrong_result")
    assert told(found["efficiency"]) == ("fail", "not_right_yet")


# ---- what was cut off too early --------------------------------------------------------


def cut_at(seconds: float, times: list[dict[str, float]]) -> invented.Json:
    """A record in which the submission was cut off at its first repetition, in all generations
    but the first."""
    record = invented.evidence(ONE, times=times)
    for run in [run for run in record["runs"] if run["kind"] == "generation"][1:]:
        invented.cut_off(run, seconds)
    return record


def asking_for(lab: Lab, at_least: float) -> Lab:
    """The lab after somebody changed how efficient a kernel is to be."""
    return replace(
        lab,
        criteria=tuple(
            replace(c, at_least=at_least) if c.name == "efficiency" else c for c in lab.criteria
        ),
    )


FAR_TOO_SLOW = invented.steady(12, solution=0.2, submission=20.0)


def test_a_cut_repetition_decides_nothing_beyond_the_cut(first_touch: Lab) -> None:
    """Cut at 2 s where 0.25 s were allowed: it took at least so long, and maybe 4 s."""
    record = cut_at(2.0, FAR_TOO_SLOW)
    assert told(judged(first_touch, record)["efficiency"]) == ("fail", "too_slow")
    # Up to 2 s may be allowed for the cut to tell.
    assert told(judged(asking_for(first_touch, 0.12), record)["efficiency"]) == ("fail", "too_slow")
    lenient = asking_for(first_touch, 0.05)  # allows 4 s
    found = judged(lenient, record)["efficiency"]
    assert told(found) == ("inconclusive", "cut_too_early")
    check_verdict(found, "inconclusive", "cut_too_early")
    evidence = parse(record)
    assert timing_cut_s(lenient, evidence, Timed(None)) is None  # the next tells how long it takes
    (account,) = timing_accounts(lenient, judge(lenient, evidence), evidence)
    assert account.stopped_because == "cut_too_early"
    assert account.json_data()["signs"] == [False, *[None] * 11]
    assert account.interval[0] is None


@pytest.mark.parametrize(
    ("submission", "status", "cause"), [(3.0, "pass", "reached"), (5.0, "fail", "too_slow")]
)
def test_new_generations_decide_what_was_cut_too_early(
    first_touch: Lab, submission: float, status: str, cause: str
) -> None:
    lenient = asking_for(first_touch, 0.05)
    record = cut_at(2.0, FAR_TOO_SLOW)
    more = invented.evidence(ONE, times=invented.steady(11, solution=0.2, submission=submission))
    new = [run for run in more["runs"] if run["kind"] == "generation"]
    some = record | {"runs": record["runs"] + new[:3]}
    assert told(judged(lenient, some)["efficiency"]) == ("inconclusive", "cut_too_early")
    record["runs"] += new
    found = judged(lenient, record)["efficiency"]
    assert told(found) == (status, cause)
    assert "of 11 generations" in found.why or "of 8 generations" in found.why


def test_a_whole_repetition_that_was_faster_is_what_counts(first_touch: Lab) -> None:
    """A later repetition that was cut takes nothing from it."""
    record = invented.evidence(ONE, times=invented.steady(12, solution=0.2, submission=0.2))
    for run in [run for run in record["runs"] if run["kind"] == "generation"]:
        run["samples"].append(
            run["samples"][-1] | {"role": "submission", "cut": True, "elapsed_s": 2.0}
        )
    assert told(judged(first_touch, record)["efficiency"]) == ("pass", "reached")


def test_a_damaged_verdict_is_numalabs_error() -> None:
    whole = Verdict("x", "c", "submission", ()).json_data()
    odd = {"name": "a", "kind": "evidence", "status": "fail", "cause": "reached", "why": ""}
    for change in ({"criteria": 5}, {"criteria": [odd]}, {"criteria": ["x"]}):
        with pytest.raises(NumalabError, match="damaged"):
            read_verdict(whole | change)
    with pytest.raises(NumalabError, match="damaged"):
        read_verdict({})
