"""Hints: ladders of a lab's tasks, and which comes next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support import invented
from support.commands import numalab_command
from support.desks import make_desk

from numalab.errors import NumalabError, UserError
from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab
from numalab.labs.hint_ladders import BadHints, Ladder, parse_ladders
from numalab.labs.hints import (
    find_ladder,
    hint_command,
    is_exhausted,
    ladder_for,
    ladders_for,
    next_level,
    read_levels,
    remember,
    topics_of,
)
from numalab.reports.verdict_words import next_step

CRITERIA = ("correct", "near", "far")
TWO = "# code: correct, far\n\nweak\n---\nstrong\n\n# near\nlook\n---\nbind\n"


@pytest.fixture(scope="module")
def desk(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return make_desk(installation, tmp_path_factory.mktemp("desk"))


# ---- hints.md ------------------------------------------------------------------------------


def test_a_ladder_for_each_heading() -> None:
    assert parse_ladders(TWO, CRITERIA) == (
        Ladder("code", ("correct", "far"), ("weak", "strong")),
        Ladder("near", ("near",), ("look", "bind")),
    )


def test_without_a_heading_one_ladder_helps_with_all() -> None:
    text = "weak\n---\n#pragma omp parallel\n"
    assert parse_ladders(text, CRITERIA) == (
        Ladder("", CRITERIA, ("weak", "#pragma omp parallel")),
    )
    assert parse_ladders("\n", CRITERIA) == ()


def test_what_a_ladder_is_for_may_be_named() -> None:
    text = "# a : correct[sum] ,correct[MPI_Send], near\none\n---  \ntwo\n# far\nx\n# correct\ny"
    assert parse_ladders(text, CRITERIA) == (
        Ladder("a", ("correct", "correct", "near"), ("one", "two"),
               (("correct", "sum"), ("correct", "MPI_Send"))),
        Ladder("far", ("far",), ("x",)),
        Ladder("correct", ("correct",), ("y",)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("criterion", "helps"), [("correct", False), ("near", True), ("far", False)]
)
def test_what_a_ladder_helps_with_whatever_goes_wrong(criterion: str, helps: bool) -> None:
    ladder = Ladder("a", ("correct", "near"), ("x",), (("correct", "sum"), ("correct", "send")))
    assert ladder.helps_with_all_of(criterion) == helps


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("before\n" + TWO, "text before the first heading"),
        (TWO + "# near\nagain\n", "two ladders for near"),
        (TWO.replace("near", "nea"), "nea is for nea, and the lab has no such criterion"),
        (TWO.replace(", far", ""), "no ladder helps with far"),
        (TWO.replace("weak", ""), "code has an empty hint"),
        (TWO.replace("# near", "# near and so on"), "`# near and so on` is not of the form"),
        ("weak\n---\n", "the ladder has an empty hint"),
        (TWO.replace("# near", "# near: near[sum]"), "no ladder helps with near"),
        (TWO.replace("# near", "# near: near[]"), "is not of the form"),
    ],
)
def test_a_mistake_in_it_is_named(text: str, says: str) -> None:
    with pytest.raises(BadHints, match=says):
        parse_ladders(text, CRITERIA)


def test_every_ladder_of_the_kit_has_three_hints(labs: dict[str, Lab]) -> None:
    for lab in labs.values():
        assert lab.hints, lab.name
        assert all(len(ladder.levels) == 3 for ladder in lab.hints), lab.name


def test_files_and_functions_have_ladders_of_their_own(labs: dict[str, Lab]) -> None:
    stems = {file.name.split(".")[0] for file in labs["02_affinity"].files}
    assert topics_of(labs["02_affinity"]) == ("locate", *sorted(stems, key=_given_order))
    assert topics_of(labs["06_message_latency"]) == ("ping_pong", "near", "far", "predict")
    assert set(topics_of(labs["07_hybrid"])) <= {*labs["07_hybrid"].functions, "launch"}


def _given_order(name: str) -> tuple[bool, int]:
    return name.startswith("omp"), ["spread", "close", "full"].index(name[4:])


# ---- which ladder, which hint --------------------------------------------------------------


def test_the_ladder_that_helps_with_a_criterion(labs: dict[str, Lab]) -> None:
    hybrid = labs["07_hybrid"]
    for criterion, command in (
        ("deadlock_free", "./numalab hint 07 exchange_halo"),
        ("thread_level", "./numalab hint 07 start_mpi"),
        ("local_pages", "./numalab hint 07 initialize"),
        ("over_flat", "./numalab hint 07 launch"),
    ):
        assert hint_command(hybrid, criterion) == command
    assert hint_command(labs["01_first_touch"], "local_pages") == "./numalab hint 01"
    assert ladder_for(hybrid, None) == hybrid.hints[0]


def test_what_is_wrong_chooses_the_ladder(labs: dict[str, Lab]) -> None:
    """A wrong sum of right values is no matter of the exchange."""
    hybrid = labs["07_hybrid"]
    read = {"exchange_halo": 9}
    for began_in, seen, topic in (
        ("residual", {}, "residual"),
        ("MPI_Allreduce", {}, "residual"),
        ("MPI_Sendrecv", {}, "exchange_halo"),
        ("initialize", {}, "initialize"),
        ("start_mpi", {}, "start_mpi"),
        ("residual", {"residual": 9}, "residual"),
        ("field", {}, "exchange_halo"),
        ("field", read, "exchange_halo"),
        ("", {}, "exchange_halo"),
        ("", read, "residual"),
    ):
        assert hint_command(hybrid, "correct", began_in, seen) == f"./numalab hint 07 {topic}"
        assert find_ladder(hybrid, "correct", {"correct": began_in}, seen).topic == topic
    assert not is_exhausted(hybrid, "correct", read)
    assert is_exhausted(hybrid, "correct", read, "field")
    assert not is_exhausted(hybrid, "correct", read, "residual")
    assert not is_exhausted(hybrid, "correct", {**read, "residual": 9})
    assert is_exhausted(
        hybrid,
        "correct",
        dict.fromkeys(("exchange_halo", "residual", "start_mpi", "initialize"), 9),
    )


def test_what_ladders_are_on_is_in_the_lab(labs: dict[str, Lab], kit_root: Path) -> None:
    """A function of the contract or of MPI, or one of the driver's arrays."""
    named = [
        (lab, name) for lab in labs.values() for ladder in lab.hints for _, name in ladder.only
    ]
    assert len(named) >= 5
    for lab, name in named:
        driver = (kit_root / "labs" / lab.name / "grading/driver.c").read_text()
        is_known = name in lab.functions or name.startswith("MPI_") or f'{{"{name}",' in driver
        assert is_known, (lab.name, name)


def test_after_the_strongest_hint_the_solution_is_named(
    labs: dict[str, Lab], first_touch: Lab
) -> None:
    """The same hint once more is no next step."""
    evidence = parse(invented.evidence(invented.ONE_NODE, writer=invented.master_writes))
    verdict = judge(first_touch, evidence)
    top = len(first_touch.hints[0].levels)
    assert not is_exhausted(first_touch, "touched_where_used", {"": top - 1})
    for seen, says in (
        ({}, "A hint: ./numalab hint 01"),
        ({"": top - 1}, "A hint: ./numalab hint 01"),
        ({"": top}, "All hints on it are read; the solution is in solutions/01_first_touch/."),
    ):
        seen_here = [("here", evidence)]
        step = next_step(GradedKernel(first_touch, verdict, seen_here, (), hint_levels=seen))
        assert step is not None and says in step
        assert ("A hint" in step) == (not says.startswith("All"))
    affinity = labs["02_affinity"]
    assert is_exhausted(affinity, "omp_full", {"omp_full": 9})
    assert not is_exhausted(affinity, "omp_full", {"omp_close": 9})


@pytest.mark.parametrize(
    ("asked", "topic"),
    [("near", "near"), ("near.toml", "near"), ("labs/06_message_latency/far.toml", "far"),
     ("predicted", "predict"), ("deadlock_free", "ping_pong")],
)  # fmt: skip
def test_a_topic_has_several_names(labs: dict[str, Lab], asked: str, topic: str) -> None:
    assert find_ladder(labs["06_message_latency"], asked).topic == topic


def test_the_nearest_topic_is_suggested(labs: dict[str, Lab]) -> None:
    with pytest.raises(UserError, match=r"Did you mean near\?"):
        find_ladder(labs["06_message_latency"], "neer")
    with pytest.raises(UserError, match="one ladder of hints for all"):
        find_ladder(labs["01_first_touch"], "nonsense")


CODE = Ladder("code", ("correct", "near"), ("a", "b"), (("near", "sum"),))
NEAR = Ladder("near_files", ("near",), ("a", "b"))
SUMS = Ladder("sums", ("near", "far"), ("a", "b"), (("far", "sum"), ("near", "sum")))


@pytest.fixture
def made_up(first_touch: Lab) -> Lab:
    return replace(first_touch, hints=(CODE, NEAR, SUMS))


@pytest.mark.parametrize(
    ("criterion", "began_in", "ladders"),
    [
        (None, None, (CODE, NEAR, SUMS)),
        (None, "sum", (CODE, NEAR, SUMS)),
        ("correct", "", (CODE,)),
        ("near", None, (NEAR, CODE, SUMS)),
        ("near", "", (NEAR, CODE, SUMS)),
        ("near", "sum", (CODE, SUMS)),
        ("near", "send", (NEAR,)),
        ("far", "send", ()),
        ("far", "", (SUMS,)),
        ("far", "sum", (SUMS,)),
        ("speedup", "", ()),
    ],
)
def test_ladders_that_help(
    made_up: Lab, criterion: str | None, began_in: str | None, ladders: tuple[Ladder, ...]
) -> None:
    assert tuple(ladders_for(made_up, criterion, began_in)) == ladders
    assert ladder_for(made_up, criterion, began_in) == (ladders[0] if ladders else None)


@pytest.mark.parametrize(
    ("seen", "ladder", "exhausted"),
    [
        ({}, NEAR, False),
        ({"near_files": 1}, NEAR, False),
        ({"near_files": 2}, CODE, False),
        ({"near_files": 2, "code": 2}, SUMS, False),
        ({"near_files": 2, "code": 2, "sums": 1}, SUMS, False),
        ({"near_files": 2, "code": 2, "sums": 2}, NEAR, True),
    ],
)
def test_the_first_that_has_more_to_say(
    made_up: Lab, seen: Mapping[str, int], ladder: Ladder, exhausted: bool
) -> None:
    assert ladder_for(made_up, "near", levels=seen) == ladder
    assert hint_command(made_up, "near", levels=seen) == f"./numalab hint 01 {ladder.topic}"
    assert is_exhausted(made_up, "near", seen) == exhausted
    assert not is_exhausted(made_up, "speedup", seen)
    only = replace(made_up, hints=(Ladder("one", ("near",), ("a",)),))
    assert not is_exhausted(only, "near", seen) and is_exhausted(only, "near", {"one": 1})
    assert hint_command(made_up, "speedup", levels=seen) is None


@pytest.mark.parametrize(
    ("asked", "ladder"),
    [("sums", SUMS), ("sums.toml", SUMS), ("labs/01/sums.tar.gz/", SUMS), ("near", NEAR),
     ("correct.c", CODE), ("far", SUMS)],
)  # fmt: skip
def test_names_of_a_ladder(made_up: Lab, asked: str, ladder: Ladder) -> None:
    assert find_ladder(made_up, asked) == ladder
    assert topics_of(made_up) == ("code", "near_files", "sums")


def test_an_unlike_topic_is_told_without_another(made_up: Lab) -> None:
    for asked, meant in (
        ("zzz", ""),
        ("sms", " Did you mean sums?"),
        ("farr", " Did you mean far"),
    ):
        with pytest.raises(UserError) as told:
            find_ladder(made_up, asked)
        assert f"no hints on '{asked}'.{meant}" in str(told.value)
        assert str(told.value).endswith(" There are hints on code, near_files, sums.")


@pytest.mark.parametrize(("seen", "level"), [({}, 1), ({"code": 1}, 2), ({"code": 2}, 2)])
def test_the_strongest_hint_stays_the_last(seen: Mapping[str, int], level: int) -> None:
    assert next_level(CODE, seen) == level


def test_what_was_seen_is_kept_wherever_it_is(made_up: Lab, tmp_path: Path) -> None:
    store = tmp_path / "not" / "there" / "hints.json"
    remember(store, made_up, CODE, 2)
    remember(store, made_up, CODE, 1)
    remember(store, made_up, SUMS, 0)
    assert read_levels(store) == {"01_first_touch": {"code": 2, "sums": 0}}
    with pytest.raises(NumalabError, match=r"can't write .*hints\.json"):
        remember(store / "hints.json", made_up, CODE, 1)


def test_a_weaker_hint_again_loses_nothing(labs: dict[str, Lab], tmp_path: Path) -> None:
    lab, store = labs["06_message_latency"], tmp_path / "build" / "hints.json"
    near, far = find_ladder(lab, "near"), find_ladder(lab, "far")
    for level in (1, 2, 1):
        remember(store, lab, near, level)
    seen = read_levels(store)[lab.name]
    assert next_level(near, seen) == 3
    assert next_level(far, seen) == 1


@pytest.mark.parametrize(
    "content", ['{"01_first_touch": 2}', "{", "[]", '{"01_first_touch": {"": "x"}}']
)
def test_a_damaged_file_is_as_none(labs: dict[str, Lab], tmp_path: Path, content: str) -> None:
    lab, store = labs["01_first_touch"], tmp_path / "hints.json"
    store.write_text(content)
    assert next_level(lab.hints[0], read_levels(store).get(lab.name, {})) == 1
    remember(store, lab, lab.hints[0], 1)
    assert json.loads(store.read_text()) == {lab.name: {"": 1}}


# ---- the command -----------------------------------------------------------------------------


def test_hints_grow_stronger_and_end(desk: Installation) -> None:
    said = [numalab_command(desk, "hint", "01").out for _ in range(4)]
    assert [text.splitlines()[0] for text in said] == [
        "Hint 1 of 3 for 01_first_touch:",
        "Hint 2 of 3 for 01_first_touch:",
        "Hint 3 of 3 for 01_first_touch:",
        "Hint 3 of 3 for 01_first_touch:",
    ]
    assert "2 stronger left: ./numalab hint 01 again" in said[0]
    assert "That was the strongest" in said[2]
    assert "Hint 1 of 3" in numalab_command(desk, "hint", "01", "--level", "1").out


def test_without_a_topic_the_hint_is_on_what_failed_first(desk: Installation) -> None:
    assert (
        "Hint 1 of 3 for 06_message_latency, ping_pong:" in numalab_command(desk, "hint", "06").out
    )
    desk.progress_file.write_text(
        json.dumps({"schema": 1, "failed": {"06_message_latency": ["far", "predicted"]}})
    )
    done = numalab_command(desk, "hint", "06")
    assert "Hint 1 of 3 for 06_message_latency, far:" in done.out
    assert "Hints on the rest: ping_pong, near, predict." in done.out
    desk.progress_file.write_text(
        json.dumps(
            {
                "schema": 1,
                "failed": {"07_hybrid": ["correct"]},
                "began_in": {"07_hybrid": {"correct": "residual"}},
            }
        )
    )
    for topic in ((), ("correct",)):
        assert "for 07_hybrid, residual:" in numalab_command(desk, "hint", "07", *topic).out
    again = numalab_command(desk, "hint", "06", "far.toml")
    assert "Hint 2 of 3 for 06_message_latency, far:" in again.out
