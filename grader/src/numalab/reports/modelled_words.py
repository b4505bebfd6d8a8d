"""Modelled times in words, and as rows that the terminal and pages draw. Whatever is said here is
of a model, and says so. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from numalab.machines.rates import Resource
from numalab.modelling.speedups import HANDOUT, KERNEL, ModelledSpeedup
from numalab.modelling.times import Demand, Missing, Modelled
from numalab.words import count, listed, percent

NO_TIMES = "Worked out from published rates, not timed; no points depend on it."
MAY_BE_SLOWER = "left out, or counted as nearer ones, they may be slower"
MOST_LINKS = 4  # that have a row of their own; of more the busiest over each distance
MS = 1000.0


def times_words(speedup: float) -> str:
    """As in: 1.9 times; with the digits that a model deserves."""
    return f"{speedup:.1f} times" if speedup > 0.95 else f"{speedup:.2f} times"


def headline(comparison: ModelledSpeedup) -> str:
    """One sentence: what it comes to, and where the pages are."""
    if comparison.speedup is None:
        return comparison.why_not
    whose = "" if comparison.subject == KERNEL else f"{comparison.subject}, "
    bound, known = _bound(comparison)
    said = f"On {comparison.machine}, modelled: {whose}{bound}{times_words(comparison.speedup)} "
    baseline = comparison.baseline
    said += baseline if baseline == HANDOUT else f"as fast as {baseline}"
    crowded = comparison.dominant_node
    if crowded is not None:
        pages = f"pages of {crowded.array}" if crowded.array else "pages"
        share = f"all {pages}" if crowded.share == 1 else f"{percent(crowded.share)} of the {pages}"
        said += f"; {share} behind one controller"
    return f"{said}{known}."


def _bound(comparison: ModelledSpeedup) -> tuple[str, str]:
    """What stands before and behind a speedup where parts that one of the two uses have no rate:
    they only ever take longer."""
    yours, theirs = (
        model is not None and bool(model.missing) for model in (comparison.yours, comparison.theirs)
    )
    if yours and theirs:
        return "", ", by the rates that are known"
    return ("at most " if yours else "at least " if theirs else ""), ""


def bottleneck_words(model: Modelled) -> str:
    """As in: controller 0, for all bytes."""
    first = model.bottleneck[0]
    kinds = dict.fromkeys(demand.resource for demand in model.bottleneck)
    named = [_named(kind, model) for kind in kinds]
    if len(model.bottleneck) == 1:
        return f"{named[0]}, for {_share(first.share)}"
    return listed(named)


def _share(share: float) -> str:
    return "all bytes" if share > 0.995 else f"{percent(share)} of the bytes"


def _named(kind: Resource, model: Modelled) -> str:
    """The parts of a kind that are a bottleneck."""
    parts = [demand for demand in model.bottleneck if demand.resource == kind]
    others = model.demands_on(kind)
    if kind == "core":
        return f"core {parts[0].numbers[0]}" if len(parts) == 1 else _each(parts, others, "core")
    if kind == "l3":
        return f"L3 {parts[0].numbers[1]}" if len(parts) == 1 else _each(parts, others, "L3")
    if kind == "controller":
        if len(parts) == 1:
            return f"controller {parts[0].numbers[0]}"
        return _each(parts, others, "controller")
    if len(parts) == 1:
        return link_name(parts[0])
    return _each(parts, others, "link")


def _each(parts: Sequence[Demand], others: Sequence[Demand], noun: str) -> str:
    """Several that are alike. others: all that move anything."""
    if len(parts) == len(others):
        return f"each {noun} in use"
    return count(len(parts), noun)


def link_name(demand: Demand) -> str:
    """By what its threads use."""
    user, home = demand.numbers
    return f"link {user} to {home}"


def sentences(comparison: ModelledSpeedup) -> list[str]:
    """The headline, and what limits both."""
    said = [headline(comparison)]
    yours, theirs = comparison.yours, comparison.theirs
    if yours is None or theirs is None:
        return said
    them = "the handout's" if comparison.baseline == HANDOUT else "the other's"
    ours, other = bottleneck_words(yours), bottleneck_words(theirs)
    same = f"{them} is the same" if ours == other else f"{them}: {other}"
    said.append(f"Bottleneck: {ours}; {same}.")
    if comparison.carried_from:
        said.append(
            f"Carried over by first touch from the touch map {comparison.carried_from}: nothing "
            f"was run on {comparison.machine}."
        )
    missing = _missing(comparison)
    if missing:
        said.append(f"No rate is known of {_missing_words(missing)}: {MAY_BE_SLOWER}.")
    if comparison.is_shared:
        said.append(
            "Its threads use the same pages in small pieces; what it costs to share cache lines is "
            "left out."
        )
    return said


_PLURAL: Mapping[Resource, str] = {
    "core": "cores", "l3": "L3s", "controller": "controllers", "link": "links",
}  # fmt: skip


def _missing(comparison: ModelledSpeedup) -> list[Missing]:
    both = (comparison.yours, comparison.theirs)
    missing = {one for model in both if model is not None for one in model.missing}
    return sorted(missing, key=lambda one: (one.resource, one.distance or 0))


def _missing_words(missing: Sequence[Missing]) -> str:
    """As in: cores with memory at distance 16 and 22, and links."""
    said = []
    for of in dict.fromkeys(one.resource for one in missing):
        distances = [str(one.distance) for one in missing if one.resource == of and one.distance]
        joint = "with memory at" if of == "core" else "over"
        more = f" {joint} distance {listed(distances)}" if distances else ""
        said.append(_PLURAL[of] + more)
    return ", and ".join(said)


@dataclass(frozen=True)
class Bar:
    """ms_per_gb: None where no rate is known, or nothing goes through it. share: of all bytes."""

    ms_per_gb: float | None
    share: float
    is_bottleneck: bool


NOTHING = Bar(None, 0.0, False)


@dataclass(frozen=True)
class Row:
    label: str
    yours: Bar
    theirs: Bar


def heads(comparison: ModelledSpeedup) -> tuple[str, str]:
    """Of the two sides of a picture."""
    whose = "yours" if comparison.subject == KERNEL else comparison.subject
    return whose, comparison.baseline.removeprefix("the ").replace(
        "same team on one", "team on one"
    )


def title(comparison: ModelledSpeedup) -> str:
    """Of the picture, with the number of threads and the unit."""
    assert comparison.yours is not None
    threads = count(comparison.yours.threads, "thread")
    return f"Modelled on {comparison.machine}, {threads}: ms per GB moved, and share of the bytes"


def rows(comparison: ModelledSpeedup) -> list[Row]:
    """Each controller; each link, or of many the busiest over each distance; the busiest L3 and
    core. Empty where nothing is modelled."""
    yours, theirs = comparison.yours, comparison.theirs
    if yours is None or theirs is None:
        return []
    numbers = sorted(
        {d.numbers for model in (yours, theirs) for d in model.demands_on("controller")}
    )
    found = [
        Row(
            f"controller {number[0]}",
            *(_bar(model, _at(model, "controller", number)) for model in (yours, theirs)),
        )
        for number in numbers
    ]
    return found + _link_rows(yours, theirs) + _busiest_rows(yours, theirs)


def _at(model: Modelled, of: Resource, numbers: tuple[int, ...]) -> Demand | None:
    return next((d for d in model.demands_on(of) if d.numbers == numbers), None)


def _bar(model: Modelled, demand: Demand | None) -> Bar:
    if demand is None:
        return NOTHING
    return Bar(MS * demand.s_per_gb, demand.share, demand in model.bottleneck)


def _busiest(demands: Sequence[Demand]) -> Demand | None:
    return max(demands, key=lambda demand: demand.s_per_gb, default=None)


def _link_rows(yours: Modelled, theirs: Modelled) -> list[Row]:
    both = (yours, theirs)
    pairs = sorted({(f.user, f.home) for model in both for f in model.flows if f.user != f.home})
    if len(pairs) <= MOST_LINKS:
        return [
            Row(f"link {user} to {home}", *(_flow(model, {(user, home)}) for model in both))
            for user, home in pairs
        ]
    by_distance: dict[int, set[tuple[int, int]]] = {}
    for model in both:
        for flow in model.flows:
            if flow.user != flow.home:
                by_distance.setdefault(flow.distance, set()).add((flow.user, flow.home))
    return [
        Row(f"busiest link, {distance}", *(_flow(model, by_distance[distance]) for model in both))
        for distance in sorted(by_distance)
    ]


def _flow(model: Modelled, pairs: Set[tuple[int, int]]) -> Bar:
    """The busiest of these; without a time where no rate is known."""
    flows = [flow for flow in model.flows if (flow.user, flow.home) in pairs]
    busiest = max(flows, key=lambda flow: flow.share, default=None)
    if busiest is None:
        return NOTHING
    demand = _at(model, "link", (busiest.user, busiest.home))
    return Bar(None, busiest.share, False) if demand is None else _bar(model, demand)


def _busiest_rows(yours: Modelled, theirs: Modelled) -> list[Row]:
    kinds: tuple[tuple[Resource, str], ...] = (("l3", "busiest L3"), ("core", "busiest core"))
    return [
        Row(label, *(_bar(model, _busiest(model.demands_on(kind))) for model in (yours, theirs)))
        for kind, label in kinds
        if yours.demands_on(kind) or theirs.demands_on(kind)
    ]


def reading(comparison: ModelledSpeedup) -> list[str]:
    """How the picture is read."""
    if comparison.speedup is None:
        return []
    has_links = any(
        flow.user != flow.home
        for model in (comparison.yours, comparison.theirs)
        if model is not None
        for flow in model.flows
    )
    said = "* is the bottleneck: it takes longest."
    if has_links:
        said += " Link 1 to 0: threads of NUMA node 1 that use memory of NUMA node 0."
    return [said, NO_TIMES]


def in_one_line(comparison: ModelledSpeedup) -> str:
    """Without a picture: what it comes to and why."""
    return " ".join(sentences(comparison))


UNRATED = "+"
UNRATED_MEANS = f"{UNRATED} Parts of it have no rate: {MAY_BE_SLOWER}."


@dataclass(frozen=True)
class Others:
    """What else is compared on a machine. over: with what; lines: whose, threads, how many times
    as fast, bottleneck, with UNRATED behind it where parts have no rate."""

    over: str
    lines: tuple[tuple[str, str, str, str], ...]


def others(found: Sequence[ModelledSpeedup]) -> list[Others]:
    """Those that are modelled, by what they are compared with."""
    by_over: dict[str, list[tuple[str, str, str, str]]] = {}
    for one in found:
        if one.yours is None or one.speedup is None:
            continue
        threads = count(one.yours.threads, "thread")
        limit = bottleneck_words(one.yours) + (f" {UNRATED}" if _missing(one) else "")
        line = (one.subject, threads, _bound(one)[0] + times_words(one.speedup), limit)
        by_over.setdefault(one.baseline, []).append(line)
    return [Others(over, tuple(dict.fromkeys(lines))) for over, lines in by_over.items()]


def drawn_and_others(
    found: Sequence[ModelledSpeedup],
) -> tuple[ModelledSpeedup, list[ModelledSpeedup]]:
    """Of what is compared on a machine, what is drawn, and what is only told. found: not empty."""
    drawn = next((one for one in found if one.speedup is not None), found[0])
    return drawn, [one for one in found if one is not drawn and one.speedup is not None]


def other_sentences(found: Sequence[ModelledSpeedup]) -> list[str]:
    """For pages: what else is compared on a machine."""
    said = [
        f"Modelled, {whose} ({threads}): {times} as fast as {one.over}; bottleneck: {limit}."
        for one in others(found)
        for whose, threads, times, limit in one.lines
    ]
    return [*said, UNRATED_MEANS] if any(f" {UNRATED}." in line for line in said) else said
