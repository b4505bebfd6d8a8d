"""The rules for placed memory: by a kernel with system calls, or by a policy for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from numalab import words
from numalab.evidence.kinds import FILE_PLACING, FILLED, PLACING
from numalab.evidence.placed_pages import Placing, alternating_share, homes_of_runs
from numalab.evidence.record import Evidence
from numalab.judging import explain
from numalab.judging.printed_words import refused_call
from numalab.judging.registry import Judge, Rule, take_run
from numalab.judging.soundness import (
    judge_value,
    missing_runs,
    not_measured,
    pages_not_visible,
    unusable,
)
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.goals import OWNERS, POLICY_NODES, PlacingGoal
from numalab.machines.topology import topology_of_node

# The calls that have to be allowed; with the first a machine refuses those that place memory.
_CALLS = ("get_mempolicy", "move_pages")
KILLED = "SIGKILL"  # the signal by which Linux ends a process when memory runs out
# The first part of the matrix that is written before it is handed over, as in the lab's inputs.h.
WRITTEN_BEFORE = 1 / 8


def _nodes_with_processors(evidence: Evidence) -> tuple[int, ...]:
    return tuple(sorted({pu.numa_node for pu in topology_of_node(evidence.node).pus}))


def _homes_text(homes: Sequence[int]) -> str:
    """Return in words which share of the pages is on which NUMA node. homes: the NUMA node of each
    page; -1: none."""
    counts = Counter(homes)
    absent = counts.pop(-1, 0)
    parts = [
        f"{words.percent(count / len(homes))} on NUMA node {node}"
        for node, count in counts.most_common(4)
    ]
    rest = len(counts) - len(parts)
    if rest > 0:
        parts.append(f"the others on {rest} more")
    if absent:
        parts.append(f"{words.percent(absent / len(homes))} on none, since nobody touched them")
    return words.listed(parts)


def _placed(criterion: Criterion, evidence: Evidence) -> Placing | CriterionVerdict:
    """Return the run that shows where pages are, with `homes`; or the verdict where none counts."""
    runs = evidence.runs_of(PLACING)
    missing = missing_runs(criterion, evidence, runs)
    if missing:
        return missing
    run = runs[-1]
    if run.homes is None:
        return pages_not_visible(criterion, names_seccomp=True)
    expected = _nodes_with_processors(evidence)
    if len(expected) < 2:
        why = "All threads run on one NUMA node here: whatever is placed nearest to them is there."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    if run.nodes != expected:
        why = (
            f"The team runs on {words.count(len(run.nodes), 'NUMA node')}, and the kit gives each "
            f"thread a core of its own on {len(expected)}: something in the kernel's file changes "
            "where threads run (sched_setaffinity, numa_run_on_node)."
        )
        share = len(set(run.nodes) & set(expected)) / len(expected)
        return verdict_on(criterion, "fail", "missed", why, value=share, unit="share")
    return run


def _homes(run: Placing, array: str) -> Sequence[int]:
    """Return the NUMA node of each page of an array, -1 for none, in a run that _placed
    returned."""
    assert run.homes is not None
    return run.homes[array]


def _not_in_turn(homes: Sequence[int], nodes: Sequence[int], goal: PlacingGoal) -> str:
    """Return why pages are not in turn on these NUMA nodes, as a sentence with a space before it;
    empty: not known."""
    strange = sorted(set(homes) - set(nodes) - {-1})
    is_all = goal.nodes == "all"
    if len(set(homes)) == 1 and set(homes) != set(nodes):
        return " That is where its first touch has put it."
    if strange and is_all:
        return f" No thread runs on NUMA node {strange[0]}: leave it out."
    if strange:
        return f" NUMA node {strange[0]} is not asked for."
    if set(homes) != set(nodes):
        lacking = sorted(set(nodes) - set(homes))
        if not lacking:
            return ""
        return (
            f" Threads run on NUMA node {lacking[0]}, too."
            if is_all
            else f" NUMA node {lacking[0]} is asked for, too."
        )
    if goal.run_pages > 1:
        return f" They are to be in turn, {goal.run_pages} pages by {goal.run_pages} pages."
    return " They are to be in turn, page by page."


def _mention_refused_call(judge: Judge) -> Judge:
    """Return a judge whose failures begin with a call that was refused, where the last run of
    PLACING printed one."""

    def judged(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
        verdict = judge(criterion, evidence)
        refused = next(
            filter(None, (refused_call(run.outcome) for run in evidence.runs_of(PLACING)[-1:])), ""
        )
        if verdict.status != "fail" or not refused:
            return verdict
        return replace(
            verdict, why=f"A call was refused, and did nothing ({refused}). {verdict.why}"
        )

    return judged


@Rule("table_interleaved", runs=(PLACING,), needs=_CALLS)
@_mention_refused_call
@take_run(_placed)
def table_interleaved(criterion: Criterion, evidence: Evidence, run: Placing) -> CriterionVerdict:
    """Measure the share of the table's pages that are in turn on the NUMA nodes of the goal."""
    table, goal = _homes(run, "table"), criterion.placing
    nodes = goal.nodes_of(run.nodes)
    share = alternating_share(homes_of_runs(table, goal.run_pages), nodes)
    if share >= criterion.least:
        where = (
            f"the {len(run.nodes)} NUMA nodes that threads run on"
            if goal.nodes == "all"
            else f"{words.count(len(nodes), 'NUMA node')} of the {len(run.nodes)} that threads run "
            "on"
        )
        by = f", in runs of {goal.run_pages}" if goal.run_pages > 1 else ""
        why = f"The table's {len(table):,} pages are in turn on {where}{by}."
    else:
        reason = _not_in_turn(table, nodes, goal)
        why = f"Of the table's pages there are {_homes_text(table)}.{reason}"
    return judge_value(criterion, share, why, unit="share")


@Rule("blocks_local", runs=(PLACING,), needs=_CALLS)
@_mention_refused_call
@take_run(_placed)
def blocks_local(criterion: Criterion, evidence: Evidence, run: Placing) -> CriterionVerdict:
    """Measure the share of each part's pages on the NUMA node of the thread that owns the part; the
    part with the least share counts."""
    owner_of_part = OWNERS[criterion.placing.owner]
    shares = run.local_shares("blocks", owner_of_part)
    worst = min(shares, key=lambda part: shares[part])
    if shares[worst] >= criterion.least:
        why = (
            f"Each of the {len(shares)} parts lives on the NUMA node of its thread, "
            f"{words.percent(shares[worst])} of its pages or more."
        )
    else:
        blocks = _homes(run, "blocks")
        pages = [
            home
            for page, home in enumerate(blocks)
            if run.thread_of_page(page, len(blocks)) == worst
        ]
        thread = owner_of_part(worst, len(run.thread_nodes))
        why = (
            f"Part {worst} belongs to thread {thread}, which runs on NUMA node "
            f"{run.thread_nodes[thread]}; of its pages there are {_homes_text(pages)}."
        )
        if len(set(blocks)) == 1:
            why += (
                " That is where thread 0 has written them: pages that are there already go "
                "elsewhere only if they are moved, and not from a node that their policy names."
            )
    return judge_value(criterion, shares[worst], why, unit="share")


@Rule("handed_over", runs=(PLACING,), needs=_CALLS)
@_mention_refused_call
@take_run(_placed)
def handed_over(criterion: Criterion, evidence: Evidence, run: Placing) -> CriterionVerdict:
    """Measure the share of the matrix on the NUMA node of the thread that it was handed to."""
    node, matrix = run.thread_nodes[-1], _homes(run, "matrix")
    share = sum(home == node for home in matrix) / len(matrix)
    if share >= criterion.least:
        why = f"{words.first_upper(words.percent(share))} of the matrix is on NUMA node {node}."
    else:
        border = int(len(matrix) * WRITTEN_BEFORE)
        before, after = matrix[: border - 1], matrix[border + 1 :]
        moved = [
            words.percent(sum(home == node for home in part) / len(part))
            for part in (before, after)
        ]
        why = (
            f"The matrix was handed to NUMA node {node}. Of the pages that were written before, "
            f"{moved[0]} are there, and {moved[1]} of those that were touched later."
        )
    return judge_value(criterion, share, why, unit="share")


@Rule("contained", runs=(PLACING,), needs=_CALLS)
@_mention_refused_call
@take_run(_placed)
def contained(criterion: Criterion, evidence: Evidence, run: Placing) -> CriterionVerdict:
    """Measure the share of the memory that no function was to place which is where its threads
    touched it; the least share of any thread and array counts. It fails where a thread's memory
    policy has changed, and where nothing was placed yet."""
    first = {run.thread_nodes[0]}
    if all(set(_homes(run, array)) <= first for array in ("table", "blocks", "matrix")):
        why = (
            "Nothing has been placed yet: all is where thread 0 has touched it, so that nothing "
            "shows what else a call would change."
        )
        return verdict_on(criterion, "fail", "missed", why, value=0.0, unit="share")
    shares = [
        (share, array, thread)
        for array in ("others", "after")
        for thread, share in run.local_shares(array).items()
    ]
    share, array, thread = min(shares)
    changed = _changed_policy(run)
    if changed is not None:
        return verdict_on(criterion, "fail", "missed", changed, value=min(share, 0.0), unit="share")
    if share >= criterion.least:
        why = (
            "Memory that no function was asked to place is where its threads touched it, before "
            "and afterwards, and the policy of each thread is what it was."
        )
    else:
        when = (
            "which it had touched before, was moved away"
            if array == "others"
            else "which it touched afterwards, lives elsewhere"
        )
        why = (
            f"Of thread {thread}'s part of `{array}` {words.percent(1 - share)}, {when}: it runs "
            f"on NUMA node {run.thread_nodes[thread]}."
        )
        if thread < len(run.bound_nodes) and run.bound_nodes[thread] != run.thread_nodes[thread]:
            why += " The kernel has changed where that thread may run."
    return judge_value(criterion, share, why, unit="share")


def _changed_policy(run: Placing) -> str | None:
    """Return a sentence on the first thread whose memory policy has changed, or None."""
    for thread, (before, after) in enumerate(
        zip(run.policies_before, run.policies_after, strict=False)
    ):
        if None not in (before, after) and before != after:
            return (
                f"The memory policy of thread {thread} was `{before}` and is `{after}` afterwards, "
                "for all that it will touch: set_mempolicy is for a thread, mbind for a piece of "
                "memory."
            )
    return None


@Rule("falls_back", runs=(FILLED,), needs=_CALLS)
@_mention_refused_call
def falls_back(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the share of a NUMA node's free memory that the matrix takes where the node has too
    little for all of it. A program that ends then for lack of memory fails."""
    if not evidence.is_virtual:
        why = "A NUMA node is filled up to show it, and that is done on virtual nodes only."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    runs = evidence.runs_of(FILLED)
    if not runs:
        missing = missing_runs(criterion, evidence, evidence.runs_of(PLACING))
        return missing or not_measured(criterion, evidence)
    run = runs[-1]
    if len(_nodes_with_processors(evidence)) < 2:
        why = "All threads run on one NUMA node here: there is no other to hand the matrix to."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    fill = run.fill
    if not run.outcome.ok:
        killed = run.outcome.signal == KILLED
        if fill is None or not (killed or run.outcome.status == "out_of_memory"):
            return unusable(criterion, run.outcome, evidence, "While a NUMA node was filled: ")
        why = (
            f"NUMA node {fill.numa_node} had {words.amount(fill.free_bytes)} free, less than the "
            "matrix needs, and Linux has ended the program for it (the out-of-memory killer), with "
            "room on other nodes: it was bound to that node. Prefer it."
        )
        return verdict_on(criterion, "fail", "missed", why, value=0.0, unit="share")
    if fill is None or fill.pages is None:
        return not_measured(criterion, evidence)
    share = min(1.0, fill.pages.get(fill.numa_node, 0) * run.page_bytes / fill.free_bytes)
    why = (
        f"NUMA node {fill.numa_node} had {words.amount(fill.free_bytes)} free, less than the "
        f"matrix needs. The program went on, and the matrix takes {words.percent(share)} of that"
    )
    why += (
        "; the rest of it is elsewhere."
        if share >= criterion.least
        else ": it was hardly handed over."
    )
    return judge_value(criterion, share, why, unit="share")


@Rule("fast_memory", runs=(PLACING,), needs=_CALLS)
@_mention_refused_call
@take_run(_placed)
def fast_memory(criterion: Criterion, evidence: Evidence, run: Placing) -> CriterionVerdict:
    """Measure the share of the stream on the NUMA node with the most bandwidth for thread 0."""
    if run.fastest_node is None:
        why = (
            "This machine does not tell how fast its memory is (ACPI's HMAT), so that any NUMA "
            "node is as good."
        )
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    node, stream = run.fastest_node, _homes(run, "stream")
    share = sum(home == node for home in stream) / len(stream)
    own = run.thread_nodes[0]
    if node == own and share >= criterion.least:
        why = "The fastest memory is that of the thread's own NUMA node: first touch finds it, too."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    why = (
        f"For thread 0, on NUMA node {own}, the memory of node {node} has the most bandwidth: "
        f"{words.percent(share)} of the stream's pages are there"
    )
    why += "." if share >= criterion.least else f"; in all {_homes_text(stream)}."
    return judge_value(criterion, share, why, unit="share")


@Rule("binary_interleaved", runs=(FILE_PLACING,), needs=_CALLS, subject="file")
def binary_interleaved(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the share of the table of numalab's program that is in turn under a handed-in policy.

    Where the goal names no NUMA nodes, the table may be in turn on those without processors, too:
    numactl's `all` includes them.
    """
    file = criterion.needed_file
    text = evidence.handed(file.name)
    runs = [run for run in evidence.runs_of(FILE_PLACING) if run.file == file.name]
    if text is None:
        return not_measured(criterion, evidence)
    needed = _nodes_with_processors(evidence)
    if len(needed) < 2:
        why = "All threads run on one NUMA node here, so that any policy puts the table there."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    asked = POLICY_NODES[file.goal]
    if asked is not None and not set(asked) <= set(needed):
        why = f"This machine has no NUMA node with processors whose number is {max(asked)}."
        return verdict_on(criterion, "not_gradable", "no_effect_here", why)
    if not runs:
        return not_measured(criterion, evidence)
    run = runs[-1]
    if not run.outcome.ok:
        why = f"Under {file.name}: {explain.outcome(run.outcome, evidence.language)}"
        return verdict_on(criterion, "error", "kit", why)
    if run.refused_nodes:
        why = (
            f"{file.name} names NUMA node {run.refused_nodes}, and this machine has none of that "
            'number: numactl ends with "out of range", and nothing is started.'
        )
        return verdict_on(criterion, "fail", "missed", why, value=0.0, unit="share")
    if run.homes is None:
        return pages_not_visible(criterion)
    homes = run.homes["table"]
    nodes = asked or tuple(sorted((set(homes) | set(needed)) - {-1}))
    share = alternating_share(homes, nodes)
    if share >= criterion.least:
        why = f"The table's {len(homes):,} pages are in turn on {len(nodes)} NUMA nodes."
        if asked is not None:
            numbers = words.listed([str(node) for node in asked])
            why = f"The table's {len(homes):,} pages are on NUMA node {numbers}, as asked for."
    else:
        why = f"Of the table's pages there are {_homes_text(homes)}."
        if not text.variables:
            why = f"{file.name} sets nothing. {why}"
        lacking = [node for node in needed if node not in homes]
        if asked is not None:
            numbers = words.listed([str(node) for node in asked])
            why += f" It is to be on NUMA node {numbers}, and on no other."
        elif lacking:
            why += f" Threads that use it run on NUMA node {lacking[0]}, too."
    return judge_value(criterion, share, why, unit="share")
