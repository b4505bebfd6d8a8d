"""The rules for pages: which thread writes them first, which threads use them, and which NUMA node
they are on. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numalab import words
from numalab.evidence import page_work, touch
from numalab.evidence.kinds import ANOTHER_TEAM, PLACEMENT, RACE, TRACE
from numalab.evidence.record import Evidence, Trace
from numalab.judging.registry import Rule
from numalab.judging.soundness import judge_value, missing_runs, pages_not_visible, unusable
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.machines.topology import topology_of_node
from numalab.pu_lists import format_pus


def needs_team(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict where the machine has one core, so that there is no team; or None."""
    if evidence.node["cores"] >= 2:
        return None
    why = "This node offers one core, so there is one thread and nothing to share out."
    return verdict_on(criterion, "not_gradable", "too_few_cores", why)


def ran_words(threads: int, evidence: Evidence, team: int) -> str:
    """Return a sentence on a kernel that ran more threads than the team has, with a space behind
    it; else empty."""
    if threads <= team:
        return ""
    return (
        f"The kernel ran {threads} threads on {words.count(int(evidence.node['cores']), 'core')}. "
    )


def _has_no_place(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the failure where the threads that use pages have fewer cores than there are of them,
    or than the team has threads if these are fewer; or None."""
    traces = evidence.runs_of(TRACE)
    using = page_work.threads_that_use(touch.united_users(traces))
    threads = [thread for thread in traces[0].threads if thread.number in using]
    uses = {use for pages in touch.united_uses(traces).values() for page in pages for use in page}
    if all(min(use.pu, use.core) >= 0 for use in uses):
        pus, cores = {use.pu for use in uses}, {use.core for use in uses}
        needed = min(len(using), traces[0].team)
    else:
        pus = {pu for thread in threads for pu in thread.allowed_pus}
        core_of = topology_of_node(evidence.node).core  # some virtual machines hide their cores
        cores = {core_of[pu] for pu in pus if pu in core_of}
        needed = min(len(threads), traces[0].team)
    if not pus or len(cores) >= needed:
        return None
    where = f"PUs {format_pus(sorted(pus))}" if len(pus) > 1 else f"PU {min(pus)}"
    why = (
        f"The {len(using)} threads that use the pages are kept on "
        f"{words.count(len(cores), 'core')} ({where}), where the kit gives each of "
        f"{traces[0].team} a core of its own: the kernel changes where they run (proc_bind, "
        "sched_setaffinity)."
    )
    # The share of the cores that it should have: with a value the solution is run, too.
    share = len(cores) / needed
    return verdict_on(criterion, "fail", "missed", why, value=share, unit="share")


@Rule("shared_out", runs=(TRACE, ANOTHER_TEAM), confirmed_by=ANOTHER_TEAM)
def shared_out(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the largest difference between a thread's share of the pages and an equal share, as a
    part of an equal share; where that is small enough and a thread leaves the work on its pages to
    others, what it leaves. A team of another size has to share its work, too."""
    verdict = _shared_by_team(criterion, evidence)
    if verdict.status != "pass":
        return verdict
    return _missed_by_another_team(criterion, evidence) or verdict


def _missed_by_another_team(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the verdict where a run with a team of another size ended early, where threads beyond
    that team work, or where it shares work unequally that is not dealt out on demand; or None."""
    for trace in evidence.runs_of(ANOTHER_TEAM):
        asked = words.count(trace.team, "thread")
        if not trace.outcome.ok:
            return unusable(criterion, trace.outcome, evidence, f"Asked for {asked}: ")
        users = touch.united_users([trace])
        ratios = touch.equal_share_ratios(users, trace.team)
        if not set(range(trace.team)) <= set(page_work.threads_that_use(users)):
            # In nested teams other threads may stand for some of the team's.
            ratios, _ = _shares([trace])
        working = [thread for thread, ratio in ratios.items() if ratio > 0]
        off = max(abs(ratio - 1) for ratio in ratios.values())
        # Where work is dealt out on demand, other load on a core makes shares unequal by chance.
        is_dealt_out = page_work.contested_share(touch.united_users(evidence.runs_of(TRACE))) <= 0.5
        is_uneven = is_dealt_out and off > criterion.most
        if is_uneven or any(thread >= trace.team for thread in working):
            why = (
                f"Asked for {asked}, on one core less, it works with {len(working)}. Is a number "
                "of threads written into the kernel (num_threads, omp_set_num_threads)? The kit "
                f"asks for as many as there are cores (OMP_NUM_THREADS). {_traced(trace)}"
            )
            return verdict_on(criterion, "fail", "missed", why)
    return None


def _shared_by_team(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    traces = evidence.runs_of(TRACE)
    missing = needs_team(criterion, evidence) or missing_runs(criterion, evidence, traces)
    missing = missing or _has_no_place(criterion, evidence)
    if missing:
        return missing
    team = traces[0].team
    ratios, user_kind = _shares(traces)
    ran = max(len(ratios), len(page_work.threads_that_use(touch.united_users(traces))))
    off = max(ratios, key=lambda thread: abs(ratios[thread] - 1))
    value = abs(ratios[off] - 1)
    idle = [thread for thread, ratio in ratios.items() if ratio == 0]
    if value <= criterion.most:
        idler = _idler(ratios, evidence)
        if idler is not None:
            return judge_value(
                criterion, 1 - idler.expected_share, _idles(idler, evidence), unit=_SHARE_UNIT
            )
        least, most = min(ratios.values()), max(ratios.values())
        span = "" if most - least < 0.01 else f"{least:.2f} to {most:.2f} times "
        why = (
            f"{ran_words(ran, evidence, team)}Each of the {len(ratios)} {user_kind}s uses {span}"
            f"an equal share of the pages. {_traced(traces[0])}"
        )
    elif len(idle) == len(ratios) - 1 and ran <= team:
        why = (
            f"One thread of {len(ratios)} does all the work of compute, with n = "
            f"{traces[0].n:,}. Is there a parallel loop, is its if clause, should it have one, "
            "true for this n, and does it take the threads that the kit asks for?"
            f"{_DO_CONCURRENT if evidence.language == 'fortran' else ''}"
        )
    else:
        user = f"Thread {off}" if user_kind == "thread" else f"The core of thread {off}"
        why = (
            f"{user} of {len(ratios)} uses {ratios[off]:.2f} times an equal "
            f"share of the pages; between {1 - criterion.most:g} and {1 + criterion.most:g} is "
            "asked for."
        )
        if ran > team:
            why += f" The kit asks for {team} threads. {ran_words(ran, evidence, team).rstrip()}"
        why += f" {_traced(traces[0])}"
    return judge_value(criterion, value, why, unit=_SHARE_UNIT)


_SHARE_UNIT = "off an equal share"
_DO_CONCURRENT = " (do concurrent is none: gfortran runs it with one thread.)"


def _is_by_thread(traces: Sequence[Trace]) -> bool:
    """Tell whether each page was used by the very thread that numalab bound to the core that used
    it."""
    worker = touch.worker_of(traces)
    uses = touch.united_uses(traces).values()
    return all(worker(use) == use.thread for pages in uses for page in pages for use in page)


def _shares(traces: Sequence[Trace]) -> tuple[dict[int, float], str]:
    """Return each thread's share of the used pages as a multiple of an equal share, and "thread";
    where other threads worked on the team's cores the same by core, and "core"."""
    user_kind = "thread" if _is_by_thread(traces) else "core"
    users = touch.workers(touch.united_uses(traces), touch.worker_of(traces))
    return touch.equal_share_ratios(users, traces[0].team), user_kind


def _idler(ratios: Mapping[int, float], evidence: Evidence) -> page_work.Idler | None:
    """Return the thread that works least for the pages that it touches; None where each does
    enough.

    Re-armed uses don't count where several threads use most pages, since the first user opens a
    page for all. CPU time does not count on a virtual machine, or where threads and cores are not
    one to one.
    """
    traces = evidence.runs_of(TRACE)
    watched = [trace for trace in traces if trace.closings]
    unwatched = touch.united_users([trace for trace in traces if not trace.closings])
    if page_work.contested_share(unwatched) > 0.5:
        watched = []
    uses_observed = page_work.pages_in_use(watched, evidence.numa_nodes, touch.worker_of(traces))
    shares = {thread: ratio / len(ratios) for thread, ratio in ratios.items()}
    has_cpu_time = not evidence.is_virtual and _is_by_thread(traces)
    placements = evidence.runs_of(PLACEMENT) if has_cpu_time else ()
    placement = next((run for run in placements if run.cpu_time), None)
    return next(iter(page_work.idlers(shares, uses_observed, placement)), None)


def _idles(idler: page_work.Idler, evidence: Evidence) -> str:
    """Return the reason of a failure where a thread touches its pages and leaves the work to
    others."""
    moments = page_work.pages_in_use(evidence.runs_of(TRACE), evidence.numa_nodes).moments
    has = (
        f"it has {words.percent(idler.expected_share)} of the CPU time that goes with them"
        if idler.is_cpu_time
        else f"at {moments} moments of compute, whenever they came, it used "
        f"{words.percent(idler.expected_share)} of what goes with them"
    )
    return (
        f"Thread {idler.thread} touches its share of the pages, and others work on them: {has}. "
        "What counts is who works."
    )


def _traced(trace: Trace) -> str:
    """Return a sentence on a tracing: its problem size, and how many pages were traced."""
    pages = sum(array.checked_pages.pages for array in trace.arrays)
    looked_at = sum(array.checked_pages.count for array in trace.arrays)
    part = "all" if looked_at == pages else f"{looked_at:,} of the"
    return f"Traced with n = {trace.n:,}, {part} {pages:,} pages."


@Rule("touched_where_used", runs=(TRACE,))
def touched_where_used(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the share of the traced pages that are used where they were first written: on the
    same NUMA node or, where there is one, on the same core or by the same thread. It fails, too,
    where uses of re-armed pages show that others do the work."""
    traces = evidence.runs_of(TRACE)
    missing = needs_team(criterion, evidence) or missing_runs(criterion, evidence, traces)
    missing = missing or _lacks_team(criterion, evidence) or _has_no_place(criterion, evidence)
    if missing:
        return missing
    shown = touch.shown_trace(evidence)  # what is drawn is what counts
    assert shown is not None
    worst = touch.touch_share(*shown, touch.place_of(traces, evidence.numa_nodes))
    uses_observed = page_work.pages_in_use(traces, evidence.numa_nodes)
    if worst.share >= criterion.least and uses_observed.has_strayed(criterion.least):
        share = uses_observed.local_uses / uses_observed.total
        return judge_value(criterion, share, _used_by_others(uses_observed, evidence), unit="share")
    sentence = _loop_sentence if criterion.kit_writes_first else _touch_sentence
    ways = _ways_to_share(evidence)
    why = sentence(worst, evidence.numa_nodes, ways)
    if criterion.least <= worst.share < 1:  # which is what it passes by, not the rest
        part = words.first_upper(words.percent(worst.share))
        why = f"{part} of the pages are used by a thread that sits where they were first written."
    unsteady = touch.unsteady_share(traces, worst.worst_array, evidence.numa_nodes)
    if worst.share < criterion.least and worst.contested_share <= 0.5 < unsteady:
        why += (
            f" Who writes first is chance: for {words.percent(unsteady)} of the pages it was not "
            f"the same thread in all tracings. The loop that writes them is dealt out {ways}."
        )
    if worst.share < criterion.least:
        why += f" {_traced(traces[0])}"
    if traces[0].method == "in_process":
        why += " (Traced inside the process: this system refuses userfaultfd.)"
    return judge_value(criterion, worst.share, why, unit="share")


def _used_by_others(uses_observed: page_work.PagesInUse, evidence: Evidence) -> str:
    """Return the reason of a failure where each thread touches its own pages, and others work on
    them."""
    strays = words.first_upper(words.percent(1 - uses_observed.local_uses / uses_observed.total))
    where = "on another NUMA node than where" if evidence.numa_nodes > 1 else "by another than that"
    busiest, uses = max(uses_observed.thread_uses.items(), key=lambda item: item[1])
    return (
        f"Each thread touches the pages that it wrote first, and others work on them. {strays} of "
        f"the uses that were seen at {uses_observed.moments} moments of the phase, whenever they "
        f"came, were {where} the page was first written; "
        f"{words.percent(uses / uses_observed.total)} of all were those of thread {busiest}. What "
        "counts is who works."
    )


def _lacks_team(criterion: Criterion, evidence: Evidence) -> CriterionVerdict | None:
    """Return the failure where the criterion needs the whole team and threads do hardly any work,
    or, where numalab writes first, wrote no page; or None. A single thread would pass otherwise,
    since it uses the pages that it wrote."""
    traces = evidence.runs_of(TRACE)
    team = traces[0].team
    if not criterion.whole_team:
        return None
    if criterion.kit_writes_first:
        writers = {w for array in traces[0].arrays for w in array.first_writer if w >= 0}
        if len(writers) < team:
            why = (
                f"The kit's own loop over the arrays, which is no part of the kernel, ran with "
                f"{len(writers)} of {words.count(team, 'thread')}: something in the kernel's file "
                "sets threads for the whole program, before its functions are called."
            )
            return _failure(judge_value(criterion, len(writers) / team, why, unit="share"))
    ratios, _ = _shares(traces)
    using = sum(ratios[thread] >= page_work.LEAST_WORK for thread in range(team))
    if using == team:
        return None
    does = {
        0: f"None of the {team} threads uses a quarter of an equal share of the pages",
        1: f"One thread of {team} does all the work",
    }.get(using, f"{using} of {team} threads do all the work, or nearly so")
    why = f"{does}. Is there a parallel loop, and does it take the threads that the kit asks for?"
    return _failure(judge_value(criterion, using / team, why, unit="share"))


def _failure(verdict: CriterionVerdict) -> CriterionVerdict | None:
    return verdict if verdict.status == "fail" else None


def _ways_to_share(evidence: Evidence) -> str:
    """Return the ways in which several threads come to use one page, in words. That each thread
    runs the whole loop is one of them, unless searches for data races found none."""
    ways = "in pieces smaller than a page, or anew in each call (dynamic, guided, tasks)"
    if evidence.runs_of(RACE) and all(
        race.outcome.ok and not race.has_race for race in evidence.runs_of(RACE)
    ):
        return ways
    clause = {"c": "for", "fortran": "do"}[evidence.language]
    return f"{ways}, or not at all, so that each thread runs all of it (parallel without {clause})"


def _touch_sentence(touched: touch.TouchShare, numa_nodes: int, ways: str) -> str:
    if touched.share == 1:
        return "Every page was first written by a thread that sits where it is used."
    array = touched.worst_array
    if touched.writer < 0:
        share = "No page" if touched.writer_share == 1 else "Not every page"
        return f"{share} of {array} was written in initialize, so its place was left to chance."
    written = (
        f"{_pages(touched.writer_share, array, 'was', 'were')} first written by thread "
        f"{touched.writer}"
    )
    if touched.contested_share > 0.5:
        too = f" {written}." if touched.writer_share == 1 else ""
        return (
            f"{_contested(touched, numa_nodes)}, so no first touch is right for them: the loop "
            f"that uses them is dealt out {ways}.{too}"
        )
    if not touched.stray_users:
        share = words.percent(1 - touched.array_share[array])
        return f"{written}; {share} of {array} is used elsewhere than where it was written."
    if touched.stray_users == (touched.writer,) and touched.has_writer_moved:
        return (
            f"{written}, which uses them from another place than it wrote them from. Does the "
            "kernel change where its threads run (proc_bind, sched_setaffinity)?"
        )
    if touched.stray_users == (touched.writer,):
        return (
            f"{written}, which uses them and may run on several NUMA nodes: the kit binds the "
            "threads of a parallel region. Is there one?"
        )
    if len(touched.stray_users) == 1:
        whom = f"thread {touched.stray_users[0]}"
    elif numa_nodes > 1:
        whom = "threads on other NUMA nodes"
    else:
        whom = f"{len(touched.stray_users)} others"
    if touched.writer_share == 1 or touched.stray_share == 1:
        share = words.percent(touched.stray_share) if touched.stray_share < 1 else "all"
        return f"{written}, and {share} of them are used by {whom}."
    both = _pages(touched.writer_share * touched.stray_share, array, "was", "were")
    return f"{both} first written by thread {touched.writer} and are used by {whom}."


def _loop_sentence(touched: touch.TouchShare, numa_nodes: int, ways: str) -> str:
    """Return the reason of a verdict where numalab wrote the arrays."""
    if touched.share == 1:
        return "Every page is used where the kit first wrote it."
    kits = "The kit wrote the arrays before, in equal blocks, one per thread."
    if touched.contested_share > 0.5:
        return f"{_contested(touched, numa_nodes)}: the loop is dealt out {ways}. {kits}"
    share = touched.array_share[touched.worst_array]
    pages = f"Only {words.percent(share)} of the pages" if share > 0 else "None of the pages"
    where = "on the NUMA node where" if numa_nodes > 1 else "by the thread by which"
    return (
        f"{pages} of {touched.worst_array} are used {where} they were first written: the loop "
        f"deals them out otherwise. {kits}"
    )


def _contested(share: touch.TouchShare | touch.LocalShare, numa_nodes: int) -> str:
    together = "threads on several NUMA nodes" if numa_nodes > 1 else "several threads"
    return f"{_pages(share.contested_share, share.worst_array, 'is', 'are')} used by {together}"


def _pages(share: float, array: str, singular: str, plural: str) -> str:
    """Return the subject of a sentence on a share of an array's pages, with its verb."""
    if share == 1:
        return f"Every page of {array} {singular}"
    return f"{words.first_upper(words.percent(share))} of the pages of {array} {plural}"


def _are_written_locally(traces: Sequence[Trace], evidence: Evidence, min_share: float) -> bool:
    """Tell whether at least min_share of the pages are first written where they are used in the
    tracing that is judged worst, and of each array's by the same thread in all tracings."""
    numa_nodes = evidence.numa_nodes
    names = (array.name for array in traces[0].arrays)
    if any(touch.unsteady_share(traces, name, numa_nodes) > 1 - min_share for name in names):
        return False
    shown = touch.shown_trace(evidence)
    if shown is None:
        return False
    return touch.touch_share(*shown, touch.place_of(traces, numa_nodes)).share >= min_share


@Rule("local_pages", runs=(TRACE, PLACEMENT), needs=("move_pages",))
def local_pages(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Measure the share of the pages that are on the NUMA node of the thread that uses them."""
    traces, placements = evidence.runs_of(TRACE), evidence.runs_of(PLACEMENT)
    missing = missing_runs(criterion, evidence, traces)
    missing = missing or missing_runs(criterion, evidence, placements)
    missing = missing or _has_no_place(criterion, evidence)
    if missing:
        return missing
    local_share = touch.local_share(placements[0], traces)
    if local_share is None:
        return pages_not_visible(criterion, names_seccomp=True)
    local = words.first_upper(words.percent(local_share.share))
    why = f"{local} of the pages live on the NUMA node of the thread that uses them"
    if local_share.absent:
        why += f"; {words.count(local_share.absent, 'page')} could not be found on any node"
    elif local_share.contested_share > 0.5:
        why += f". {_contested(local_share, evidence.numa_nodes)}, so no place is right for them"
    elif local_share.share < 1:
        share = words.percent(local_share.crowded_share)
        why += f"; {share} of {local_share.worst_array} sits on node {local_share.crowded_node}"
    if local_share.unbound_users:
        why += (
            f"; {words.threads(local_share.unbound_users)} may run on several NUMA nodes, so no "
            "place is right"
        )
    if touch.is_written_unbound(traces[0], placements[0], local_share):
        home = touch.initial_numa_node(placements[0].threads)
        why += (
            f". Thread 0 wrote it, most likely before it was bound to node {home}: that comes with "
            "the first parallel region, and until then the system lets it run anywhere"
        )
    why += "."
    if local_share.share < criterion.least:
        if _are_written_locally(traces, evidence, criterion.least):
            why += (
                " In the tracing the same threads wrote them first: so these sat on another NUMA "
                "node while they wrote. Does the kernel change where they run (proc_bind, "
                "sched_setaffinity)?"
            )
        why += f" {_traced(traces[0])}"
    return judge_value(criterion, local_share.share, why, unit="share")
