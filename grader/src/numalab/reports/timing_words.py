"""Why the timing of a criterion stopped where it did, in sentences for a beginner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from numalab.evidence.record import Evidence
from numalab.judging.effort import effort_for
from numalab.judging.sequential import CAREFUL, QUICK
from numalab.judging.timing_account import Side, TimingAccount
from numalab.judging.timing_claims import CHAIN, EFFICIENCY, LEAST_HANDOUT_RATIO
from numalab.judging.timing_rules import (
    AGAIN_WHEN_QUIET,
    QUICK_RISK,
    band,
    reference_name,
    required_text,
)
from numalab.judging.timing_state import UNSTEADY_RATIO
from numalab.labs.declaration import Lab
from numalab.words import count, first_upper, ratio

READING = (
    "In each generation fresh processes take turns, and the best repetition of each counts. What "
    "decides is how many generations are fast enough, not by how much. 'Evidence' starts at 1, "
    "grows with every generation that agrees and shrinks with every other."
)


@dataclass(frozen=True)
class Named:
    """What the sentences call things. graded: what was handed in; slow: what a speedup is
    over."""

    graded: str
    slow: str


def names(lab: Lab, account: TimingAccount, evidence: Evidence) -> Named:
    launch = account.criterion.slow
    what = "launch" if launch else "placement" if lab.timed_placements else "kernel"
    owner = {"submission": "your", "handout": "the handout's"}.get(
        evidence.variant, "the solution's"
    )
    return Named(
        f"{owner} {what}", launch.split("/")[-1] if launch else account.criterion.baseline_text
    )


def evidence_words(e_value: float) -> str:
    """Rounded down, so that no level seems to be reached that was not."""
    if e_value >= 10:
        return f"{math.floor(e_value):,}"
    return f"{math.floor(10 * e_value) / 10:.1f}" if e_value >= 0.1 else "<0.1"


def asked_words(account: TimingAccount, named: Named) -> str:
    """What the claim asks for."""
    if account.required is None:
        return ""
    if account.is_effect_lost:
        return (
            f"This node is too noisy now to show a speedup: {named.slow} took "
            f"{ratio(account.required.effect or 0)} times the solution's time (median), and "
            f"{LEAST_HANDOUT_RATIO:g} times are needed."
        )
    if EFFICIENCY.judges(account.criterion):
        whose = reference_name(account.criterion)
        return f"Asked for: more than {required_text(account.required)} times {whose}'s speed."
    if CHAIN.judges(account.criterion):
        shown = "not to be faster" if account.side.is_floor else "not to be slower"
        return (
            f"Asked for: {band(account.criterion)} times the solution's time. Two claims, and "
            f"drawn is the one that was harder to show: {shown}."
        )
    return (
        f"Asked for: more than {required_text(account.required)} times the speed of {named.slow}, "
        f"which is the geometric middle between it (1) and the solution (here "
        f"{ratio(account.required.effect or 0)}, median), or {LEAST_HANDOUT_RATIO**0.5:.2f} where "
        "that is more."
    )


def scale_words(account: TimingAccount) -> tuple[float, str]:
    """What a margin of 1 is called where it is shown, and of what that is a multiple."""
    if EFFICIENCY.judges(account.criterion):
        return (
            account.criterion.required_share or 1.0,
            f"times {reference_name(account.criterion)}'s speed",
        )
    if account.side.is_floor:
        return account.criterion.at_least or 1.0, "times the solution's time"
    if CHAIN.judges(account.criterion):
        return 1 / (account.criterion.at_most or 1.0), "times the solution's speed"
    return 1.0, "times the speed that is asked for"


def heading_words(account: TimingAccount) -> str:
    word = {
        "pass": "passed",
        "fail": "failed",
        "not_gradable": "not gradable",
        "inconclusive": "left open",
        "error": "not decided",
    }[account.verdict.status]
    return (
        f"{account.criterion.name}: {word} after {count(len(account.state.margins), 'generation')}"
    )


def _evidence_sentence(side: Side, graded: str) -> str:
    claim = side.claim
    e_for, e_against = evidence_words(claim.e_for), evidence_words(claim.e_against)
    if claim.reached == "above":
        return (
            f"The evidence came to {e_for}: if {graded} were {side.fails}, as much "
            f"would come up in at most 1 of {e_for} gradings."
        )
    if claim.reached == "below":
        return (
            f"The evidence came to {e_against}: if {graded} were {side.holds}, as much "
            f"would come up in at most 1 of {e_against} gradings."
        )
    text = f"The evidence came to {e_for} for '{side.good}' and to {e_against} for '{side.bad}'"
    text = text.replace("<", "less than ")
    more = max(claim.e_for, claim.e_against)
    if more < 2:
        return f"{text}: chance alone often brings as much."
    word = side.good if more == claim.e_for else side.bad
    return (
        f"{text}. If {graded} were not {word}, as much as {evidence_words(more)} would come up in "
        f"at most 1 of {evidence_words(more)} gradings: not enough to decide."
    )


def interval_sentence(account: TimingAccount, unit: float, of: str) -> str:
    """unit: what a margin of 1 is on the scale that is shown; of: of what it is a multiple."""
    low, high = (None if end is None else ratio(end * unit) for end in account.interval)
    confidence = f"{100 * account.state.thresholds.confidence:.0f} %"
    if low is None and high is None:
        return (
            f"There are too few generations for an interval that holds their median with "
            f"{confidence} confidence."
        )
    if low == high:
        where = f"about {low}"
    elif low is None:
        where = f"below {high}"
    elif high is None:
        where = f"above {low}"
    else:
        where = f"between {low} and {high}"
    return f"The median of all such generations is {where} {of}, with {confidence} confidence."


def _risk(level: float) -> str:
    return f"reached {level:,.0f}: a risk of at most 1 in {level:,.0f} to be wrong"


def _decided(account: TimingAccount, evidence: Evidence) -> str:
    levels = account.state.thresholds
    passed = account.state.outcome == "pass"
    text = f"it was decided. The evidence {_risk(levels.e_to_pass if passed else levels.e_to_fail)}"
    if evidence.quick:
        careful = (
            CAREFUL.e_to_pass if passed else CAREFUL.e_to_fail * levels.e_to_fail / QUICK.e_to_fail
        )
        return f"{text} (without --quick {careful:,.0f} is asked for). {QUICK_RISK}"
    other = f"a fail takes {levels.e_to_fail:,.0f}"
    return f"{text} ({other if passed else f'a pass takes {levels.e_to_pass:,.0f}'})."


def _shows(account: TimingAccount) -> str:
    effect = account.state.effect
    assert effect is not None
    return (
        f"took at least {LEAST_HANDOUT_RATIO:g} times the solution's time in {effect.wins} of "
        f"{count(effect.signs, 'generation')}"
    )


def _used_up(evidence: Evidence) -> str:
    effort = effort_for(evidence.size, evidence.quick)
    return (
        "what one grading may spend is used up: about "
        f"{effort.budget_s:.0f} s of timing, or {effort.max_replicates} generations"
    )


def _control(account: TimingAccount, named: Named) -> str:
    is_of_probe = account.criterion.at_least_of_lightspeed is not None
    program = "program" if is_of_probe else "solution"
    control = account.state.control
    if not control.signs:
        return "Whose fault that is can't be told yet."
    text = (
        f"Beside it ran a second process of the kit's own {program}, the control: it was fast "
        f"enough in {control.wins} of {count(control.signs, 'generation')}. "
    )
    unsteady = account.state.unsteady
    further = (
        f"In {unsteady.wins} of {count(unsteady.signs, 'generation')} {named.graded} was further "
        f"from what is asked for than {UNSTEADY_RATIO:g} times what the two processes of the "
        f"{program} were from each other"
    )
    if account.state.is_unstable:
        return (
            f"{text}{further}. So the node is quiet enough to tell, and it is {named.graded} that "
            "is fast in one process and slow in the next: unstable, which fails."
        )
    if control.reached is None:
        return (
            f"{text}That decides nothing, either: not the fault of {named.graded}, so it is open."
        )
    return (
        f"{text}{further}: not often enough to call it unsteady. It is too near to what is asked "
        "for to tell, so it is open."
    )


def _stopped_words(account: TimingAccount, named: Named, evidence: Evidence) -> str:
    state = account.state
    match account.stopped_because:
        case "decided":
            return _decided(account, evidence)
        case "not_gradable":
            return (
                f"there is no speedup to earn on this node. {first_upper(named.slow)} "
                f"{_shows(account)}. The evidence that it does not came to "
                f"{evidence_words(state.effect.e_against if state.effect else 0)}, and "
                f"{state.thresholds.e_to_fail:,.0f} decides."
            )
        case "too_slow" | "cut_too_early" | "implausible":
            return f"{account.verdict.why[:1].lower()}{account.verdict.why[1:]}"
        case "interrupted":
            return "it was interrupted before all was decided. Grading again goes on from here."
        case "error":
            return f"the kit could not go on. {account.verdict.why}"
        case "undecided" if state.claim.reached == "below":
            return (
                f"{_used_up(evidence)}. The times of {named.graded} are decided, but not whether "
                f"this node shows a speedup: {named.slow} {_shows(account)}. {AGAIN_WHEN_QUIET}"
            )
        case _:
            again = "" if state.is_unstable else f" {AGAIN_WHEN_QUIET}"
            return f"{_used_up(evidence)}. {_control(account, named)}{again}"


def sentences(
    account: TimingAccount, named: Named, evidence: Evidence, unit: float, of: str
) -> Iterator[str]:
    """Paragraphs below the picture; unit and of as in interval_sentence."""
    claim = account.side.claim
    if claim.signs and account.stopped_because != "not_gradable" and not account.is_effect_lost:
        yield interval_sentence(account, unit, of)
        yield _evidence_sentence(account.side, named.graded)
    yield f"Why it stopped: {_stopped_words(account, named, evidence)}"
    if account.state.outcome is not None and account.state.effect is not None:
        it_does: dict[str | None, str] = {
            "above": "This node shows the effect",
            "below": "This node does not show it",
        }
        told = it_does.get(account.state.effect.reached, "Whether this node shows it is open")
        yield f"{told}: {named.slow} {_shows(account)}."
    later = len(account.state.margins) - account.state.needed
    if account.state.outcome is not None and later:
        yield f"{count(later, 'generation')} came after the decision, and changed nothing."
    yield from _left_out(account)


def _left_out(account: TimingAccount) -> Iterator[str]:
    """What was timed and does not count."""
    pauses_s = [run.paused_s for run in account.left_out if run.why == "paused"]
    if pauses_s:
        yield (
            f"{count(len(pauses_s), 'generation')} with a pause of the node left out: it stood "
            f"still there for up to {max(pauses_s):.1f} s, with all its programs or with this job."
        )
    others = len(account.left_out) - len(pauses_s)
    if others:
        yield (
            f"{count(others, 'generation')} did not come to an end in time, what the monitor had "
            "to say was disturbed, or the kit failed: taken once more, and only that counts."
        )
