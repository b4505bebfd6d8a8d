"""A kept grading is judged again: over all places as it was graded, and shown as a grading is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import invented
from support.commands import numalab_command
from support.invented import EIGHT_NODES, ONE_NODE

from numalab.errors import UserError
from numalab.evidence.format import OtherPlaces
from numalab.evidence.read_record import parse, record_of
from numalab.evidence.record import Evidence
from numalab.files import write_json
from numalab.grading.stored_gradings import judge_again, read_grading
from numalab.installation import Installation
from numalab.judging.places import verdict_over, vm_requests
from numalab.judging.verdict import NOT_DECIDED
from numalab.labs.declaration import Lab

LAB = "01_first_touch"
Json = dict[str, Any]


def here(**more: Any) -> Json:
    """A node with one NUMA node: local_pages can't be shown on it."""
    return invented.evidence(ONE_NODE, **more) | {"elsewhere": msgspec.to_builtins(OtherPlaces())}


def on(machine: str, **more: Any) -> Json:
    return invented.evidence(EIGHT_NODES, **more) | {
        "machine": {
            "name": machine, "source": "TUW-NUMA", "accelerator": "tcg", "guest_kernel": "6.12",
            "cores_per_numa_node": 2, "cores_per_numa_node_of_machine": 16,
            "numa_node_memory_bytes": 2**28,
        },
    }  # fmt: skip


def kept(folder: Path, record: Json, there: Mapping[str, Json] | None = None) -> Path:
    (folder).mkdir(parents=True, exist_ok=True)
    write_json(folder / "evidence.json", record)
    for name, shown in (there or {}).items():
        (folder / f"on_{name}").mkdir()
        write_json(folder / f"on_{name}" / "evidence.json", shown)
    return folder


# ---- the verdict over all places -------------------------------------------------------------


def status_of(
    lab: Lab,
    there: Mapping[str, Evidence],
    elsewhere: OtherPlaces | None,
    record: Json | None = None,
) -> list[tuple[str, str]]:
    """Of local_pages: where and what."""
    verdict = verdict_over(lab, parse(record or here()), there, elsewhere)
    return [(c.where, c.status) for c in verdict.criteria if c.name == "local_pages"]


def test_a_virtual_node_shows_what_this_one_cant(first_touch: Lab) -> None:
    hydra = parse(on("hydra"))
    wrong = parse(on("hydra", writer=invented.master_writes))
    assert [look.machine for look in vm_requests(first_touch, parse(here()))] == ["hydra"]
    assert status_of(first_touch, {"hydra": hydra}, OtherPlaces()) == [("hydra", "pass")]
    assert status_of(first_touch, {"hydra": wrong}, OtherPlaces()) == [("hydra", "fail")]
    assert status_of(first_touch, {}, None) == [("here", "not_gradable")]


def test_what_kept_a_machine_away_is_kept_with_the_record(first_touch: Lab) -> None:
    """Of the lab's own it stays not gradable; one that was named is an error."""
    own = OtherPlaces((), {"hydra": "there is no QEMU"})
    named = OtherPlaces(("hydra",), {"hydra": "there is no QEMU"})
    assert status_of(first_touch, {}, own) == [("here", "not_gradable")]
    assert status_of(first_touch, {}, named) == [("hydra", "error")]
    (why,) = [
        c.why
        for c in verdict_over(first_touch, parse(here()), {}, own).criteria
        if c.name == "local_pages"
    ]
    assert why.endswith("No virtual node could show it: there is no QEMU")


def test_what_nobody_waited_for_and_what_nobody_asked_for_is_open(first_touch: Lab) -> None:
    for elsewhere in (OtherPlaces(interrupted_at="hydra"), OtherPlaces(interrupted_at="here")):
        found = verdict_over(first_touch, parse(here()), {}, elsewhere)
        (local,) = [c for c in found.criteria if c.name == "local_pages"]
        assert (local.where, local.status) == ("hydra", "inconclusive")
        assert local.cause == "interrupted"
    # As after a change of rules: the first grading had no need of hydra.
    found = verdict_over(first_touch, parse(here()), {}, OtherPlaces())
    (local,) = [c for c in found.criteria if c.name == "local_pages"]
    assert (local.where, local.status) == ("hydra", "inconclusive")
    assert local.cause == "not_measured"


def test_of_several_machines_each_is_judged_by_what_it_has_left(labs: dict[str, Lab]) -> None:
    """One that was not measured keeps none of the others' from counting."""
    hybrid = labs["07_hybrid"]
    record = here() | {"lab": hybrid.name, "runs": [invented.checked(part="code")]}
    evidence = parse(record)
    (placed,) = [c for c in hybrid.criteria if c.name == "ranks_placed"]
    launch = hybrid.launch_of(placed.part)
    run = invented.launched(launch.name, str(placed.part), [], refused="It asks for 64 cores.")
    shown = parse(on("nebula") | {"lab": hybrid.name, "runs": [run]})
    found = verdict_over(hybrid, evidence, {"nebula": shown}, OtherPlaces())
    causes = {c.where: c.cause for c in found.criteria if c.name == "ranks_placed"}
    assert causes.keys() == {"hydra", "nebula", "westmere-ex"}
    assert causes["hydra"] == causes["westmere-ex"] == "not_measured"
    (nebula,) = [c for c in found.criteria if c.name == placed.name and c.where == "nebula"]
    assert nebula.status == "fail" and "64 cores" in nebula.why


def test_a_kernel_that_ends_a_node_fails_what_it_would_show(labs: dict[str, Lab]) -> None:
    """It is taken to no other, and what they would show is neither open nor passed."""
    hybrid = labs["07_hybrid"]
    record = here() | {"lab": hybrid.name, "runs": [invented.checked(part="code")]}
    ended = OtherPlaces(ended={"hydra": "It ended."})
    found = verdict_over(hybrid, parse(record), {}, ended)
    (placed,) = [c for c in found.criteria if c.name == "ranks_placed"]
    assert (placed.where, placed.status, placed.cause) == ("hydra", "fail", "ended_node")
    assert placed.why == "It ended."
    assert not any(c.where in ("nebula", "westmere-ex") for c in found.criteria)


def test_what_is_kept_of_places_is_read_as_it_was_written() -> None:
    for elsewhere in (
        OtherPlaces(), OtherPlaces(("hydra",), {"hydra": "gone"}),
        OtherPlaces(interrupted_at="here"), OtherPlaces(ended={"hydra": "It ended."}),
    ):  # fmt: skip
        told = json.loads(msgspec.json.encode(elsewhere))
        assert record_of(here() | {"elsewhere": told}).elsewhere == elsewhere
    earlier = {key: told[key] for key in ("named", "not_booted", "interrupted_at")}
    assert record_of(here() | {"elsewhere": earlier}).elsewhere == OtherPlaces()
    assert record_of(here() | {"elsewhere": None}).elsewhere is None


# ---- records on disk --------------------------------------------------------------------------


def test_a_kept_grading_is_judged_as_it_was_graded(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    folder = kept(tmp_path / "c", here(), {"hydra": on("hydra")})
    for path in (folder, folder / "evidence.json"):
        kernel = judge_again(installation, read_grading(path, labs))
        assert kernel.verdict.statuses["local_pages"] == "pass"
        assert [where for where, _ in kernel.evidence_by_place] == ["here", "hydra"]
        assert not kernel.interrupted


def test_earlier_records_don_t_tell_who_was_asked(
    installation: Installation, labs: dict[str, Lab], tmp_path: Path
) -> None:
    """Who has left a record was asked; where nobody has, nobody was, and nothing becomes open."""
    before = {key: value for key, value in here().items() if key != "elsewhere"}
    alone = read_grading(kept(tmp_path / "a", before), labs)
    assert alone.other_places is None
    assert judge_again(installation, alone).verdict.statuses["local_pages"] == "not_gradable"
    with_hydra = read_grading(kept(tmp_path / "b", before, {"hydra": on("hydra")}), labs)
    assert judge_again(installation, with_hydra).verdict.statuses["local_pages"] == "pass"


def test_an_interrupted_grading_is_one_still(labs: dict[str, Lab], tmp_path: Path) -> None:
    stopped = here() | {"elsewhere": msgspec.to_builtins(OtherPlaces(interrupted_at="hydra"))}
    assert read_grading(kept(tmp_path / "a", stopped), labs).is_interrupted
    untimed = here() | {"timing_error": NOT_DECIDED}
    assert read_grading(kept(tmp_path / "b", untimed), labs).is_interrupted
    assert not read_grading(kept(tmp_path / "c", here()), labs).is_interrupted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 7}, "evidence.json"),
        ({"lab": "99_nothing"}, "which this kit does not have"),
        ({"runs": [{"kind": "trace"}]}, "evidence.json"),
        ({"elsewhere": {"named": 5}}, r"not a valid .*\$\.elsewhere"),
        ({"language": "ada"}, "'ada' - at"),
        ({"handed_in": 5, "x": "\x1b"}, r"not a valid .*\$\.handed_in"),
    ],
)
def test_what_is_no_record_of_this_kit_is_told_in_a_sentence(
    labs: dict[str, Lab], tmp_path: Path, change: Json, said: str
) -> None:
    folder = kept(tmp_path / "c", here() | change)
    with pytest.raises(UserError, match=said):
        read_grading(folder, labs)


def test_a_virtual_nodes_record_names_where_the_rest_is(
    labs: dict[str, Lab], tmp_path: Path
) -> None:
    folder = kept(tmp_path / "c", here(), {"hydra": on("hydra")})
    with pytest.raises(UserError, match=r"what a virtual node has shown \(hydra\)"):
        read_grading(folder / "on_hydra", labs)
    shutil.copytree(folder / "on_hydra", folder / "on_other")
    path = folder / "on_other" / "evidence.json"
    write_json(path, json.loads(path.read_text()) | {"language": "fortran"})
    with pytest.raises(UserError, match="not of the grading"):
        read_grading(folder, labs)


# ---- the command ------------------------------------------------------------------------------


def test_grade_from_records_prints_the_ordinary_report(
    installation: Installation, tmp_path: Path
) -> None:
    """And writes the ordinary files; nothing is built, and no record changes."""
    folder = kept(tmp_path / "c", here(), {"hydra": on("hydra")})
    other = kept(tmp_path / "d", here(writer=invented.master_writes))
    result, page = tmp_path / "out.json", tmp_path / "out.html"
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    done = numalab_command(
        installation, "grade", "--from", str(folder), "--from", str(other / "evidence.json"),
        "--json", str(result), "--html", str(page), "--explain",
    )  # fmt: skip
    assert done.code == 1, done.err
    assert "touched_where_used" in done.out and "On hydra" in done.out
    assert "2 of 16 cores per NUMA node" in " ".join(done.out.split())
    assert "nothing was measured" in done.out
    lines = [line for line in done.out.splitlines() if str(page) not in line]  # stays whole
    assert max(map(len, lines)) <= 80
    assert {path: path.read_bytes() for path in before} == before
    told = json.loads(result.read_text())
    assert [r["status"] for r in told["results"]] == ["inconclusive", "fail"]
    assert told["machines"][0]["name"] == "hydra"
    assert told["node"]["name"] == here()["node"]["name"] and "pu_list" not in told["node"]
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["01"], "Leave out labs"),
        (["--quick"], "Leave out labs"),
        (["--lang", "c"], "Leave out labs"),
    ],
)
def test_what_chooses_what_is_graded_does_not_go_with_records(
    installation: Installation, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = numalab_command(
        installation, "grade", "--from", str(kept(tmp_path / "c", here())), *arguments
    )
    assert done.code == 2 and said in done.said


def test_a_record_that_contradicts_itself_is_damaged(
    installation: Installation, tmp_path: Path
) -> None:
    record = deepcopy(here())
    record["runs"][0]["checks"][0]["results"]["mismatches"] = 3  # without the first of them
    done = numalab_command(installation, "grade", "--from", str(kept(tmp_path / "c", record)))
    assert done.code == 2 and "is damaged, or of another kit" in done.said


def test_a_damaged_record_is_a_users_error(installation: Installation, tmp_path: Path) -> None:
    folder = kept(tmp_path / "c", here())
    (folder / "evidence.json").write_text('{"schema": 1')
    done = numalab_command(installation, "grade", "--from", str(folder))
    assert done.code == 2 and "is damaged: it is no JSON" in done.said
    for change in ({"runs": [{"kind": "trace"}]}, {"handed_in": 5, "x": "\x1b"}):
        write_json(folder / "evidence.json", here() | change)
        done = numalab_command(installation, "grade", "--from", str(folder))
        assert done.code == 2 and "not a valid evidence record" in done.said
    done = numalab_command(installation, "grade", "--from", str(tmp_path / "nowhere"))
    assert done.code == 2 and "there is no record" in done.said


def test_a_file_tells_of_one_node(installation: Installation, tmp_path: Path) -> None:
    first = kept(tmp_path / "a", here())
    other = kept(tmp_path / "b", here() | {"node": here()["node"] | {"name": "n2"}})
    both = ["--from", str(first), "--from", str(other)]
    done = numalab_command(installation, "grade", *both, "--json", str(tmp_path / "x.json"))
    assert done.code == 2 and "of 2 nodes" in done.said and not (tmp_path / "x.json").exists()
    assert numalab_command(installation, "grade", *both).code in (0, 1)
