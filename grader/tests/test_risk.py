"""The simulation of verdicts on times: that it judges as a grading does, and, with few trials, that
the judge's stated error rates hold. `grader/bench/risk.py` does it with many."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from numalab.evidence.record import CONTROL, HANDOUT, SOLUTION, SUBMISSION
from numalab.judging import sequential, timing_state
from numalab.judging.sequential import CAREFUL, QUICK, Thresholds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import alike
import bounds
import risk
import sessions
import worlds
from risk import CRITERIA, SPEEDUP, Cell
from worlds import World

TRIALS = 1500


def cell(rule: str = "speedup", quick: bool = True, sessions: int = 1, **world: object) -> Cell:
    return Cell("invented", rule, World(**world), quick, sessions)  # type: ignore[arg-type]


def judged(some: Cell, seed: int, trials: int) -> list[sessions.Judged]:
    return risk.judge_batches(some, [(seed,)], [trials])


def row(some: Cell, trials: int = TRIALS) -> risk.Row:
    truth = worlds.chances(some.world, some.criterion)
    return risk.row_of(some, truth, judged(some, 20260104, trials))


# ---- a simulated grading is a grading ----------------------------------------------------

GRADINGS = [
    cell(noise=0.1, about="win", sessions=3),
    cell("efficiency", noise=0.1, speed=1.1, quick=False),
    cell(noise=0.1, handout=1.15, twin_of=SOLUTION, is_effect_exact=True),
    cell(noise=0.25, handout=1.0, twin_of=HANDOUT),
    cell(noise=0.05, about="win", shape="two points", spread=0.3, sessions=2),
    cell(noise=0.1, about="win", shape="two points", spread=3.0, spells=20.0, cuts=True),
    cell(noise=0.1, speed=0.1, shape="two points", spread=2.0, spells=20.0, cuts=True),
]


@pytest.mark.parametrize("some", GRADINGS)
def test_it_decides_as_one_who_looks_after_every_generation(some: Cell) -> None:
    trials = 60
    taken = risk.take(some, (1,), trials)
    found = judged(some, 1, trials)
    for trial, one in enumerate(found):
        going_on = sessions.GoingOn(some.grading)
        steps = map(going_on.take, taken.generations(trial, some.grading.longest))
        assert next(step for step in steps if step is not None) == one
    assert len({(one.cause, one.generations) for one in found}) > 1


@pytest.mark.parametrize("some", GRADINGS)
def test_gradings_that_are_alike_get_the_same_verdict(some: Cell) -> None:
    """Each judged on its own: also those that are alike to one that was judged before."""
    trials = 600
    grading = some.grading
    taken = risk.take(some, (2,), trials)
    on_their_own = [
        sessions.judge_course(grading, taken.generations(trial, grading.longest), grading.ends)
        for trial in range(trials)
    ]
    assert judged(some, 2, trials) == on_their_own
    everything = taken.until(grading.longest, np.arange(trials))
    kinds = {row.tobytes() for row in alike.alike(grading, *everything)}
    assert len({one.cause for one in on_their_own}) < len(kinds) < trials / 2


@pytest.mark.parametrize("levels", [QUICK, CAREFUL])
@pytest.mark.parametrize(("win", "loss"), [(0.5, 0.5), (0.8, 0.1), (0.1, 0.7), (0.0, 1.0)])
def test_looks_taken_at_once_are_those_of_the_judge(
    levels: Thresholds, win: float, loss: float
) -> None:
    random = np.random.default_rng(4)
    drawn, length = random.random((400, 70)), random.integers(1, 70, (400, 1))
    wins, losses = drawn < win, drawn >= 1 - loss
    unknown = (random.random(drawn.shape) < 0.1) & (np.arange(70) < length)
    found = alike.first_looks(wins, losses, unknown, levels.e_to_pass, levels.e_to_fail)
    assert len(set(found.tolist())) > 5
    for place, of_one in enumerate(found.tolist()):
        signs = [
            None if is_unknown else bool(sign)
            for sign, is_unknown in zip(wins[place], unknown[place], strict=True)
        ]
        seen = sequential.decide_stepwise(signs, levels, losses[place].tolist())
        side = {"above": 1, "below": -1, None: 0}[seen[-1].reached]
        assert of_one == side * len(seen)


def test_what_the_judge_looks_at_and_is_left_out_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A few gradings are always judged on their own."""
    some = cell("efficiency", noise=0.1, speed=1.1)
    whole = risk.alike

    def without_the_claim(*arguments: Any) -> Any:
        return whole(*arguments)[:, 1:]

    monkeypatch.setattr(risk, "alike", without_the_claim)
    with pytest.raises(RuntimeError, match=r"alike\.py leaves out"):
        judged(some, 3, 4000)


def test_what_is_cut_off_took_longer() -> None:
    world = GRADINGS[-1].world
    cut = risk.take(GRADINGS[-1], (1,), 200)
    whole = risk.take(replace(GRADINGS[-1], world=replace(world, cuts=False)), (1,), 200)
    assert not whole.cut.any() and cut.cut.any() and not cut.cut[:, 0].any()
    assert (cut.times[SUBMISSION] <= whole.times[SUBMISSION]).all()
    assert ((cut.times[SUBMISSION] < whole.times[SUBMISSION]) == cut.cut).all()


@pytest.mark.parametrize("rule", CRITERIA)
def test_signs_are_those_that_the_judge_takes(rule: str) -> None:
    """So what is called true of a world is true of what the judge sees."""
    some = cell(rule, noise=0.2, handout=1.2, quick=False)
    taken = risk.take(some, (1,), 1)
    taken = replace(taken, grading=replace(some.grading, least=0))
    signs = worlds.signs_of(some.criterion, taken.times)
    state = timing_state.timing_state(
        some.criterion, taken.grading.evidence(taken.generations(0, 60))
    )
    assert list(state.signs) == signs.win[0].tolist()
    assert list(state.missed) == signs.loss[0].tolist()
    assert state.control.wins == signs.control[0, : state.control.signs].sum()
    assert state.unsteady.wins == signs.unsteady[0, : state.unsteady.signs].sum()
    if rule == "speedup":
        assert state.effect is not None
        assert state.effect.wins == signs.shows[0, : state.effect.signs].sum()
    assert all(0 < getattr(signs, name).sum() < 60 for name in ("win", "loss", "unsteady"))


def test_the_control_joins_after_the_least_generations() -> None:
    generations = risk.take(cell(), (1,), 1).generations(0, 10)
    assert [CONTROL in one.elapsed_s for one in generations] == [False] * 5 + [True] * 5


@pytest.mark.parametrize(
    ("world", "chance"),
    [
        (World(about="win"), {"win": 0.5}),
        (World(about="loss", handout=1.15), {"loss": 0.5}),
        (World(about="win", shape="two points", spread=1.0), {"win": 0.5}),
        (World(about="win", shape="heavy tails", spread=0.3), {"win": 0.5}),
        (World(about="win", run=10.0), {"win": 0.5}),
        (World(handout=1.15, is_effect_exact=True), {"shows": 0.5}),
    ],
)
def test_what_is_called_one_half_is(world: World, chance: dict[str, float]) -> None:
    times = worlds.draw(world, SPEEDUP, np.random.default_rng(3), 200_000, 1)
    signs = worlds.signs_of(SPEEDUP, times)
    truth = worlds.chances(world, SPEEDUP)
    for name, share in chance.items():
        assert getattr(signs, name).mean() == pytest.approx(share, abs=0.005)
        assert world.run or getattr(truth, name) == 0.5


# ---- the stated rates --------------------------------------------------------------------


@pytest.mark.parametrize(
    "some",
    [
        cell("efficiency", noise=0.1, about="win"),
        cell(noise=0.1, about="win"),
        cell(noise=0.1, about="loss", handout=1.3),
        cell(noise=0.1, about="win", quick=False),
        cell(noise=0.25, twin_of=SOLUTION),
        cell(noise=0.1, handout=1.15, twin_of=SOLUTION, is_effect_exact=True),
        cell(noise=0.1, about="win", shape="two points", spread=3.0, spells=20.0, cuts=True),
    ],
)
def test_stated_rates_hold(some: Cell) -> None:
    found = row(some)
    assert found.rates and not found.is_broken, risk.line_of(found)


def test_a_judge_that_is_not_careful_enough_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit the rates are nearly used up, so that half of what is asked for breaks them."""
    monkeypatch.setattr(timing_state, "QUICK", replace(QUICK, e_to_pass=10.0, e_to_fail=10.0))
    found = row(cell(noise=0.1, about="win"))
    broken = {rate.cause for rate in found.rates if rate.is_broken}
    assert broken == {"reached", "too_slow"}
    assert found.is_broken and "BROKEN" in risk.line_of(found)


def test_states_of_the_node_that_last_are_shown_and_not_covered() -> None:
    lasting = cell(noise=0.1, about="win", run=20.0)
    found = row(replace(lasting, is_covered=False), 500)
    assert any(rate.is_broken for rate in found.rates)
    assert not found.is_broken


def test_who_is_fast_in_one_process_and_slow_in_the_next_is_unstable() -> None:
    found = row(cell(noise=0.03, about="win", shape="two points", spread=0.5), 300)
    assert found.shares["unstable"] > 0.8
    assert "unstable" not in {rate.cause for rate in found.rates}


# ---- bounds, command -----------------------------------------------------------------------


@pytest.mark.parametrize(("found", "count"), [(0, 300), (3, 40), (39, 40), (700, 20_000)])
def test_bounds_are_those_of_clopper_and_pearson(found: int, count: int) -> None:
    above = scipy.stats.beta.ppf(0.95, found + 1, count - found)
    below = scipy.stats.beta.ppf(0.05, found, count - found + 1) if found else 0.0
    assert bounds.upper_bound(found, count) == pytest.approx(above, rel=1e-6)
    assert bounds.lower_bound(found, count) == pytest.approx(below, rel=1e-6, abs=1e-12)


def test_the_command_names_its_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert risk.main(["--list"]) == 0
    titles = capsys.readouterr().out.splitlines()
    assert len(set(titles)) == len(titles) > 100
    with pytest.raises(risk.UserError, match="no cell's title has 'nothing'"):
        risk.main(["--only", "nothing"])


def test_the_command_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "risk.json"
    cells = ["--trials", "20", "--jobs", "1", "--json", str(table), "--only"]
    one = "quick, efficiency: speed 1.5, noise 0.03"
    assert risk.main([*cells, one]) == 0
    assert risk.main([*cells, "quick, efficiency: speed 1.5, noise 0.0"]) == 0
    out = capsys.readouterr().out
    assert out.count(one) == 1 and "1 cells of 20 trials" in out and "2 in all" in out
    data = json.loads(table.read_text())
    assert [entry["trials"] for entry in data["cells"]] == [20, 20]
    with pytest.raises(risk.UserError, match="other trials"):
        risk.main(["--trials", "30", "--json", str(table)])
