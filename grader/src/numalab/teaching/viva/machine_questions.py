"""Oral questions on what would come out on another machine. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from numalab import words
from numalab.course.records import Json
from numalab.draws import pick, shuffled
from numalab.judging.mpi_rules import launch
from numalab.judging.page_rules import local_pages, touched_where_used
from numalab.judging.thread_rules import binding
from numalab.judging.verdict import CriterionVerdict
from numalab.teaching.viva.principles import principle_of
from numalab.teaching.viva.story import LabStory, VivaQuestion
from numalab.teaching.viva.wording import (
    WHOLE,
    deciding_lines,
    evidence_line,
    first_sentence,
    value_words,
)

LOCAL, TOUCHED = local_pages.name, touched_where_used.name
MUCH_MORE = 1.3  # the least ratio of two modelled speedups; a model can't support a smaller one
_FILE_RULES = (binding.name, launch.name)  # rules on files that have to hold on any machine


def _nodes(count: int) -> str:
    return words.count(count, "NUMA node")


def _place(criterion: CriterionVerdict) -> str:
    return "this node" if criterion.where == "here" else criterion.where


# ---- modelled times ---------------------------------------------------------------------------


def _homes(model: Json) -> int:
    """Return the number of NUMA nodes that a model's flows come from."""
    return len({flow["home"] for flow in model["flows"]})


def _limit(model: Json) -> str:
    """Return the first bottleneck of a model in words, with the largest share of the bytes that one
    such resource takes, if the model has it."""
    kinds = list(dict.fromkeys(kind for kind, *_ in model["bottleneck"]))
    shares = [model["share"] for model in model["demands"] if model["of"] == kinds[0]]
    what = {"controller": "memory controller", "l3": "L3 cache"}.get(kinds[0], kinds[0])
    if not shares:
        return f"a {what}"
    share = max(shares)
    return f"one {what} for all bytes" if share >= WHOLE else (
        f"{what}s with {words.percent(share)} of the bytes each"
    )  # fmt: skip


def _model_line(model: Json) -> str:
    return (
        f"Modelled on {model['machine']}: {model['speedup']:.1f} times {model['over']}; the "
        f"student's is limited by {_limit(model['yours'])}, {model['over']} by "
        f"{_limit(model['theirs'])}."
    )


def _modelled(story: LabStory) -> VivaQuestion | None:
    """Return the question on a speedup that is modelled on several machines, and is MUCH_MORE times
    as large on one as on another; None: there is none."""
    found: dict[str, list[Json]] = {}
    for model in story.last.result.get("modelled", ()):
        if model.get("speedup") and model.get("yours") and model.get("theirs"):
            found.setdefault(model["criterion"], []).append(model)
    for criterion, same in found.items():
        less, more = min(same, key=_speedup), max(same, key=_speedup)
        if _speedup(more) < MUCH_MORE * _speedup(less) or less["over"] != more["over"]:
            continue
        over = more["over"]
        return VivaQuestion(
            subject=criterion,
            text=(
                f"Nothing was timed there, but your report models {_speedup(less):.1f} times "
                f"{over} on {less['machine']} and {_speedup(more):.1f} times on "
                f"{more['machine']}. Why is it more there?"
            ),
            answer=(
                f"{words.first_upper(over)} is limited by {_limit(more['theirs'])}. The student's "
                f"pages lie on {_nodes(_homes(less['yours']))} of {less['machine']} and on "
                f"{_homes(more['yours'])} of {more['machine']}, each with a memory controller of "
                "its own: the more there are, the more is to be won.",
                "It is worked out from published rates and where the pages were seen, not timed.",
            ),
            evidence=(_model_line(less), _model_line(more)),
            follow_up=(
                "What would it be with one NUMA node? (1: there is one controller for both.)"
            ),
        )
    return None


def _speedup(model: Json) -> float:
    return float(model["speedup"])


# ---- pages --------------------------------------------------------------------------------------


def _larger(story: LabStory, draw: str, nodes: int) -> tuple[str, int] | None:
    """Draw a machine with more than `nodes` NUMA nodes: its name and number of NUMA nodes; None:
    there is none."""
    larger = [model for model in story.machines if model[1] > nodes]
    return pick(f"{draw}: machine", larger) if larger else None


def _local(story: LabStory, draw: str) -> VivaQuestion | None:
    """Return the question on local pages: what their share is on another machine, or what it is
    where it could not be observed; None: there is none."""
    for verdict in story.last.places(LOCAL):
        if verdict.status == "pass" and verdict.value is not None:
            return _carried(story, draw, verdict)
    return _unobserved(story)


_AGAIN_NEAR = (
    "About the same, as long as what writes first and what uses share the elements out alike "
    "whatever the number of threads: then each page is where it is used. Only a page at the border "
    "of two shares has two users: at most one per thread and array."
)


def _carried(story: LabStory, draw: str, observed: CriterionVerdict) -> VivaQuestion | None:
    nodes = story.last.numa_nodes.get(observed.where, 2)
    other = _larger(story, draw, nodes)
    if other is None:
        return None
    name, many = other
    where = _place(observed)
    return VivaQuestion(
        subject=LOCAL,
        text=(
            f"{LOCAL} is {value_words(observed)} on {where}, with {_nodes(nodes)}. What would it "
            f"be on {name}, with {many}, for the same file, and why?"
        ),
        answer=(
            _AGAIN_NEAR,
            "A wrong answer is that it falls with the number of NUMA nodes: that is so where one "
            f"thread writes all pages (1/{many} of them would be local).",
        ),
        evidence=(
            evidence_line(story.last, observed),
            f"{words.first_upper(where)} has {_nodes(nodes)}; {name} has {many}.",
        ),
        follow_up=(
            "And with threads that are bound to nothing? (Nobody knows: they may run far from "
            "their pages.)"
        ),
        listing=deciding_lines(story.last, story.file_of(LOCAL)),
    )


def _unobserved(story: LabStory) -> VivaQuestion | None:
    """Return the question on what the touch map of one NUMA node shows for several; None: there is
    none."""
    hidden, touched = story.last.shown(LOCAL), story.last.shown(TOUCHED)
    if hidden is None or hidden.cause != "too_few_numa_nodes":
        return None
    if touched is None or touched.status != "pass" or touched.value is None:
        return None
    return VivaQuestion(
        subject=LOCAL,
        text=(
            f"{LOCAL} could not be graded on this node. What would it be on a machine with two "
            "NUMA nodes, and which line of your report tells you?"
        ),
        answer=(
            f"{TOUCHED} tells it: {value_words(touched)} of the pages are first written by the "
            "very thread that uses them. So they are on its NUMA node, if the threads are bound.",
            _AGAIN_NEAR,
        ),
        evidence=(evidence_line(story.last, hidden), evidence_line(story.last, touched)),
        follow_up="Why does binding matter? (A thread that moves leaves its pages behind.)",
        listing=deciding_lines(story.last, story.file_of(TOUCHED)),
    )


# ---- files that hold on several machines --------------------------------------------------------


def _differs(story: LabStory, places: Sequence[CriterionVerdict]) -> VivaQuestion | None:
    """Return the question on a criterion that passes on one machine and fails on another; None: it
    does not. places: its verdicts by machine."""
    passed = next((model for model in places if model.status == "pass"), None)
    failed = next((model for model in places if model.status == "fail"), None)
    if passed is None or failed is None:
        return None
    here, there = _place(passed), _place(failed)
    file, principle = story.file_of(failed.name), principle_of(story.rule(failed.name))
    return VivaQuestion(
        subject=failed.name,
        text=(
            f"With the same {file}, {failed.name} passes on {here} and fails on {there}. What of "
            "the machines makes the difference?"
        ),
        answer=(
            f"On {there}: {first_sentence(failed.why)}",
            *([f"Why: {principle.why}"] if principle else []),
        ),
        evidence=(evidence_line(story.last, passed), evidence_line(story.last, failed)),
        follow_up="What would pass on both?",
        listing=deciding_lines(story.last, file),
    )


def _portable(story: LabStory, places: Sequence[CriterionVerdict]) -> VivaQuestion | None:
    """Return the question on a file that passes on several machines; None: it does not, or the rule
    is not one of _FILE_RULES. places: the criterion's verdicts by machine, one or more."""
    first = places[0]
    rule = story.rule(first.name)
    names = [_place(model) for model in places]
    principle = principle_of(rule)
    if principle is None or rule not in _FILE_RULES or len(names) < 2:
        return None
    if any(model.status != "pass" for model in places):
        return None
    file = story.file_of(first.name)
    return VivaQuestion(
        subject=first.name,
        text=(
            f"{file} reaches its goal on {words.listed(names)}, which are different machines. "
            "Which words in it make that so, and where would you look what a new machine does "
            "with it?"
        ),
        answer=(principle.why, "To look: ./numalab machine show NAME, and grade with --on NAME."),
        evidence=tuple(evidence_line(story.last, model) for model in places[:2]),
        follow_up=principle.follow_up,
        listing=deciding_lines(story.last, file),
    )


def machine_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return questions on other machines. Those on a criterion that passes on one and fails on
    another come first; the order of the rest is drawn."""
    names = list(story.last.verdict.statuses)
    by_name = [places for name in names if (places := story.last.places(name))]
    of_files = [_portable(story, places) for places in by_name]
    able = [model for model in of_files if model is not None]
    alike = [_modelled(story), _local(story, draw), pick(f"{draw}: file", able) if able else None]
    made = [*(_differs(story, places) for places in by_name), *shuffled(f"{draw}: form", alike)]
    return [question for question in made if question is not None]
