"""Who works on pages and who only touches them, and teams that are none, on invented records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support import invented
from support.golden_texts import check_text, check_verdict
from support.origins import moved, place_of_thread

from numalab.errors import NumalabError
from numalab.evidence.kinds import ACTIVE_THREADS
from numalab.evidence.read_record import parse, record_of
from numalab.judging import planner
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab
from numalab.reports.touch_map import touch_map_picture

Json = dict[str, Any]
ONE, TWO = invented.ONE_NODE, invented.TWO_NODES


def verdicts(lab: Lab, record: Json) -> dict[str, CriterionVerdict]:
    return {c.name: c for c in judge(lab, parse(record)).criteria}


def whole_team(lab: Lab, *, kit_writes_first: bool) -> Lab:
    changed = (
        replace(c, whole_team=True, kit_writes_first=kit_writes_first)
        if c.rule == "touched_where_used"
        else c
        for c in lab.criteria
    )
    return replace(lab, criteria=tuple(changed))


def used_again(record: Json, *uses: tuple[int, int, int]) -> Json:
    """uses: first writer, user and times, seen in a of the natural tracing."""
    for run in record["runs"]:
        if run["kind"] != "trace":
            continue
        is_natural = run["touch_map"]["order"] == "natural"
        run["touch_map"]["closings"] = 130 if is_natural else 0
        for array in run["touch_map"]["arrays"]:
            is_seen = is_natural and array["array"] == "a"
            array["used_again"] = [list(use) for use in uses] if is_seen else []
    return record


def with_cpu_s(record: Json, *cpu_s: float, waiting_s: float = 0.0) -> Json:
    """waiting_s: for which the last thread was kept from its core."""
    placed = next(run for run in record["runs"] if run["kind"] == "placement")
    for entry, seconds in zip(placed["cpu_time"], cpu_s, strict=True):
        entry["cpu_s"] = entry["demand_s"] = seconds
    placed["cpu_time"][-1]["demand_s"] += waiting_s
    return record


def test_who_only_touches_pages_does_not_use_them(first_touch: Lab) -> None:
    """Each page is first written and first used by its owner, and worked on by thread 0."""
    record = used_again(invented.evidence(ONE), (0, 0, 130), (1, 0, 130))
    record_of(record)
    found = verdicts(first_touch, record)
    assert found["touched_where_used"].status == found["shared_out"].status == "fail"
    assert found["touched_where_used"].value == 0.5
    check_verdict(found["touched_where_used"], "fail", "missed")
    check_verdict(found["shared_out"], "fail", "missed")


@pytest.mark.parametrize(
    ("uses", "touched", "shared"),
    [
        ([(0, 0, 130), (1, 1, 130)], "pass", "pass"),
        ([(0, 0, 130), (1, 1, 120), (1, 0, 8), (0, 1, 4)], "pass", "pass"),  # borders of blocks
        ([(0, 0, 130), (1, 1, 90), (1, 0, 40)], "fail", "pass"),  # handed over one by one
        ([(0, 0, 5), (1, 0, 5)], "fail", "pass"),  # few, and half of them
        ([(0, 0, 10), (1, 0, 1)], "pass", "pass"),  # one may be chance
        ([(0, 0, 130), (1, 1, 15), (1, 0, 50)], "fail", "fail"),
        ([(0, 0, 130), (1, 1, 15)], "pass", "pass"),  # done before the first moments
        ([(0, 0, 130), (1, 1, 45)], "pass", "pass"),  # fewer, and not by far
        ([], "pass", "pass"),
    ],
)
def test_how_much_is_chance(
    first_touch: Lab, uses: list[tuple[int, int, int]], touched: str, shared: str
) -> None:
    found = verdicts(first_touch, used_again(invented.evidence(ONE), *uses))
    assert found["touched_where_used"].status == touched
    assert found["shared_out"].status == shared


def test_who_is_ahead_opens_pages_for_all(first_touch: Lab) -> None:
    """Neighbouring elements in turn: thread 1 works as much, and meets few closed pages."""
    record = invented.evidence(ONE, users=lambda owner, page: [0, 1])
    found = verdicts(first_touch, used_again(record, (0, 0, 260), (1, 0, 260), (1, 1, 8)))
    assert found["shared_out"].status == "pass"
    assert found["touched_where_used"].status == "fail"


def test_on_numa_nodes_neighbours_may_work_for_each_other(first_touch: Lab) -> None:
    near = [(writer, writer // 4 * 4, 40) for writer in range(TWO.threads)]
    found = verdicts(first_touch, used_again(invented.evidence(TWO), *near))
    assert found["touched_where_used"].status == "pass"
    far = [(writer, (writer + 4) % 8, 40) for writer in range(TWO.threads)]
    found = verdicts(first_touch, used_again(invented.evidence(TWO), *far))
    check_verdict(found["touched_where_used"], "fail", "missed")


def test_who_uses_pages_has_cpu_time(first_touch: Lab) -> None:
    found = verdicts(first_touch, with_cpu_s(invented.evidence(ONE), 0.2, 0.01))["shared_out"]
    check_verdict(found, "fail", "missed")
    even = with_cpu_s(invented.evidence(ONE), 0.2, 0.08)  # a slower core, or memory that is far
    assert verdicts(first_touch, even)["shared_out"].status == "pass"
    kept_away = with_cpu_s(invented.evidence(ONE), 0.2, 0.01, waiting_s=0.15)
    assert verdicts(first_touch, kept_away)["shared_out"].status == "pass"
    there = with_cpu_s(invented.evidence(ONE), 0.2, 0.01) | {"machine": invented.MACHINE}
    assert verdicts(first_touch, there)["shared_out"].status == "pass"


def test_a_team_of_one_shows_nothing(first_touch: Lab) -> None:
    serial = {"writer": invented.master_writes, "users": lambda owner, page: [0]}
    record = invented.evidence(ONE, **serial)
    assert verdicts(first_touch, record)["touched_where_used"].status == "pass"  # shared_out fails
    found = verdicts(whole_team(first_touch, kit_writes_first=False), record)["touched_where_used"]
    assert (found.status, found.value) == ("fail", 0.5)
    check_verdict(found, "fail", "missed")
    found = verdicts(whole_team(first_touch, kit_writes_first=True), record)["touched_where_used"]
    check_verdict(found, "fail", "missed")
    many = invented.Machine(1, 1, 24, in_turn=False)
    idle = {"users": lambda owner, page: [min(owner, 22)]}  # of 24 threads one, below the bound
    for is_kits in (False, True):
        lab = whole_team(first_touch, kit_writes_first=is_kits)
        record = invented.evidence(many, writer=invented.master_writes, **idle)
        found = verdicts(lab, record)["touched_where_used"]
        assert found.status == "fail" and (is_kits or found.value < 0.1)
        own = {"writer": lambda owner, page: min(owner, 22)}
        assert verdicts(lab, invented.evidence(many, **own, **idle))[
            "touched_where_used"
        ].status == ("pass")
    right = invented.evidence(ONE)
    for is_kits in (False, True):
        lab = whole_team(first_touch, kit_writes_first=is_kits)
        assert verdicts(lab, right)["touched_where_used"].status == "pass"


def test_a_team_that_is_moved_together_is_told(first_touch: Lab) -> None:
    """All on one NUMA node whatever a thread writes is local."""
    record = invented.evidence(TWO, writer=invented.master_writes)
    for run in record["runs"]:
        for thread in run.get("threads", []):
            thread |= {"allowed_pus": [0, 2, 4, 6], "core": -1, "package": 0, "numa_node": 0}
    found = verdicts(first_touch, record)
    for name in ("shared_out", "touched_where_used", "local_pages"):
        check_verdict(found[name], "fail", "missed")


def test_cores_that_are_hidden_are_nobodys_doing(first_touch: Lab) -> None:
    record = invented.evidence(ONE)
    for entry in record["node"]["pu_list"]:
        entry["core"] = -1  # as hwloc tells in some virtual machines
    assert verdicts(first_touch, record)["shared_out"].status == "pass"


def test_the_share_is_over_the_threads_that_ran(first_touch: Lab) -> None:
    quarters = {"users": lambda owner, page: [2 * owner + page // 20 % 2]}
    record = invented.evidence(ONE, **quarters)
    found = verdicts(first_touch, record)["shared_out"]
    check_verdict(found, "pass", "reached")


# ---- at work -------------------------------------------------------------------------


def at_work(*threads: tuple[int, int]) -> Json:
    """threads: at how many moments each works, and is busy with something else."""
    return {
        "kind": "at_work", "lab": "x", "part": None, "team": 2, "role": "submission", "n": 16384,
        "computes": 2, "moments": 64, "results": invented.RIGHT, "outcome": invented.OK,
        "threads": [{"thread": t, "works": works, "spins": busy_else}
                    for t, (works, busy_else) in enumerate(threads)],
    }  # fmt: skip


EVEN, WAITS = at_work((60, 0), (62, 0)), at_work((20, 40), (60, 0))


@pytest.mark.parametrize(
    ("looks", "status", "is_open"),
    [
        ([], "pass", False),
        ([EVEN], "pass", False),
        ([WAITS | {"moments": 0}], "pass", False),  # nobody could look
        ([WAITS], "inconclusive", True),
        ([WAITS, EVEN], "pass", False),
        ([WAITS, WAITS], "fail", False),
        ([WAITS, EVEN, WAITS], "fail", False),
    ],
)
def test_most_looks_decide(first_touch: Lab, looks: list[Json], status: str, is_open: bool) -> None:
    judged = next(c for c in first_touch.criteria if c.rule == "touched_where_used")
    balanced = replace(judged, name="balanced", rule="balanced", at_least=0.9)
    lab = replace(first_touch, criteria=(balanced,))
    record = invented.evidence(ONE)
    placed = next(run for run in record["runs"] if run["kind"] == "placement")
    placed |= {"computes": 1, "one_thread": invented.one_thread(0.2)}
    placed["cpu_time"][1]["longest_s"] = 0.0
    assert planner.needs_run(
        ACTIVE_THREADS, lab, parse(record | {"runs": [*record["runs"], placed]}), None
    )
    record = record | {"runs": [*record["runs"], placed, *looks]}
    record_of(record)
    found = verdicts(lab, record)["balanced"]
    assert found.status == status
    assert (found.cause == "busy_waiting") == (status == "fail")
    assert planner.needs_another_run(ACTIVE_THREADS, lab, parse(record), None) == is_open


# ---- drawn ---------------------------------------------------------------------------


def test_who_wrote_unbound_is_drawn_and_named() -> None:
    record = invented.evidence(TWO, writer=invented.master_writes)
    for run in record["runs"]:
        if run["kind"] == "trace":
            run["threads"][0] |= {"allowed_pus": list(range(8)), "core": -1, "numa_node": -1}
    plain = [line.plain for line in touch_map_picture(parse(record), 65)]
    assert "nobody" not in " ".join(plain)
    check_text(plain[1])
    check_text(" ".join(plain))


# ---- where a thread was at the time ------------------------------------------------------------


def test_another_thread_at_the_same_place_is_right(first_touch: Lab) -> None:
    """As in nested teams, whose threads get other places in the next region."""
    for machine in (ONE, TWO):
        last = machine.threads - 1
        record = moved(
            invented.evidence(machine),
            lambda owner, m=machine, n=last: (n - owner, *place_of_thread(m, owner)),
            lambda owner, m=machine: (owner, *place_of_thread(m, owner)),
        )
        record_of(record)
        found = verdicts(first_touch, record)
        assert found["touched_where_used"].value == 1.0
        assert "chance" not in found["touched_where_used"].why
        if machine is TWO:
            assert found["local_pages"].status == "pass"
            picture = [line.plain for line in touch_map_picture(parse(record), 65)]
            assert picture[1].split()[-1] == picture[2].split()[-1]


def elsewhere_numbered(machine: invented.Machine, owner: int) -> tuple[int, int, int]:
    """Other threads than the team's, which nested regions start, on the team's cores."""
    return owner + machine.threads, *place_of_thread(machine, owner)


@pytest.mark.parametrize("machine", [ONE, TWO])
def test_work_is_shared_out_by_cores(first_touch: Lab, machine: invented.Machine) -> None:
    def others(owner: int) -> tuple[int, int, int]:
        return elsewhere_numbered(machine, owner)

    found = verdicts(first_touch, moved(invented.evidence(machine), others, others))
    assert found["shared_out"].status == found["touched_where_used"].status == "pass"
    check_verdict(found["shared_out"], "pass", "reached")

    def one_core(owner: int) -> tuple[int, int, int]:
        return owner, *place_of_thread(machine, max(0, owner - 1))

    found = verdicts(first_touch, moved(invented.evidence(machine), one_core, one_core))
    kept = "kept on 1 core" if machine is ONE else "kept on 7 cores"
    assert kept in found["shared_out"].why and found["shared_out"].status == "fail"

    def crowded(owner: int) -> tuple[int, int, int]:
        """More threads than cores, and most on one of these."""
        return owner, *place_of_thread(machine, 0 if owner % 16 else owner // 16 % machine.threads)

    record = invented.evidence(machine, users=lambda owner, page: [16 * owner + page % 16])
    for run in record["runs"]:
        if run["kind"] == "trace":
            for array in run["touch_map"]["arrays"]:
                array["first_writer"] = [[u[0], pages] for u, pages in array["users"]]
    found = verdicts(first_touch, moved(record, crowded, crowded))
    assert found["shared_out"].status == "fail"


def test_threads_of_one_core_are_at_one_place(first_touch: Lab) -> None:
    """Four threads write what two of them use, on the same two cores of one NUMA node."""
    record = moved(
        invented.evidence(ONE),
        lambda owner: (owner + 2, *place_of_thread(ONE, owner)),
        lambda owner: (owner, *place_of_thread(ONE, owner)),
    )
    assert verdicts(first_touch, record)["touched_where_used"].value == 1.0
    record = moved(
        invented.evidence(ONE),
        lambda owner: (owner, *place_of_thread(ONE, owner)),
        lambda owner: (owner, *place_of_thread(ONE, 1 - owner)),
    )
    found = verdicts(first_touch, record)["touched_where_used"]
    assert found.value == 0.0
    check_verdict(found, "fail", "missed")


def test_the_same_thread_at_another_place_is_wrong(first_touch: Lab) -> None:
    last = TWO.threads - 1
    record = moved(
        invented.evidence(TWO),
        lambda owner: (owner, *place_of_thread(TWO, owner)),
        lambda owner: (owner, *place_of_thread(TWO, last - owner)),
    )
    found = verdicts(first_touch, record)
    assert found["touched_where_used"].value == found["local_pages"].value == 0.0
    check_verdict(found["touched_where_used"], "fail", "missed")


@pytest.mark.parametrize("is_bound_in_the_end", [False, True])
def test_who_may_move_is_nowhere(first_touch: Lab, is_bound_in_the_end: bool) -> None:
    """By luck all are on the NUMA node of their pages."""
    record = moved(
        invented.evidence(TWO),
        lambda owner: (owner + 1, -1, -1),
        lambda owner: (
            (owner + 1, *place_of_thread(TWO, owner))
            if is_bound_in_the_end
            else (owner + 1, -1, -1)
        ),
    )
    assert verdicts(first_touch, record)["touched_where_used"].value == 0.0


def test_cores_of_a_node_have_siblings(first_touch: Lab) -> None:
    """A thread bound to a core may write on one of its PUs and use on the other."""
    record = moved(
        invented.evidence(TWO),
        lambda owner: (owner, *place_of_thread(TWO, owner)),
        lambda owner: (owner, *place_of_thread(TWO, owner)),
    )
    for run in record["runs"]:
        if run["kind"] == "trace":
            origins = run["touch_map"]["origins"]
            run["touch_map"]["origins"] = [*origins, *({**o, "pu": o["pu"] + 8} for o in origins)]
            for array in run["touch_map"]["arrays"]:
                array["used_from"] = [
                    [[origin + len(origins) for origin in users], pages]
                    for users, pages in array["used_from"]
                ]
    assert verdicts(first_touch, record)["touched_where_used"].value == 1.0


def test_origins_that_there_are_not_are_refused(first_touch: Lab) -> None:
    record = moved(
        invented.evidence(TWO),
        lambda owner: (owner, *place_of_thread(TWO, owner)),
        lambda owner: (owner, *place_of_thread(TWO, owner)),
    )
    trace = next(run for run in record["runs"] if run["kind"] == "trace")
    trace["touch_map"]["origins"].pop()
    with pytest.raises((ValueError, NumalabError)):
        parse(record)
