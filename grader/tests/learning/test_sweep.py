"""Rates over threads and placements: what is measured, shown and refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from support import invented

from numalab.errors import Interrupted, NothingToDraw, UserError
from numalab.evidence.format import HandedText
from numalab.evidence.read_record import parse
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab, load_labs
from numalab.learning import sweep
from numalab.learning.api import LearnerLab, find_lab
from numalab.learning.sweep import LABS_OWN, Setting, Sweep, settings_of, thread_counts

LABS = load_labs(find_installation("gnu").root)
FIRST, SECOND = LABS["01_first_touch"], LABS["02_affinity"]
EVIDENCE = parse(invented.evidence(invented.ONE_NODE))
RATES = {
    Setting(1, "kmp_close.env"): (10.0, 11.0, 9.0, 10.5, 10.2, 9.9),
    Setting(2, "kmp_close.env"): (12.0, 12.5, 11.0, 12.1, 12.2, 12.3),
    Setting(1, "kmp_spread.env"): (10.1,) * 6,
    Setting(2, "kmp_spread.env"): (),
}


class Session:
    """Of a node with so many cores, and with files that were read."""

    def __init__(self, threads: int, **complaints: str | None) -> None:
        self.threads = threads
        texts = [HandedText(name.replace("__", "."), why, {}) for name, why in complaints.items()]
        self.record = SimpleNamespace(handed_in=texts)


def chosen(threads: Sequence[Any] | None, files: Sequence[str] = (), cores: int = 2) -> Any:
    session: Any = Session(cores, kmp_close__env=None, omp_full__env="omp_full.env, line 1: no")
    return settings_of(session, threads, files)


# ---- what is measured --------------------------------------------------------------------------


def test_left_out_all_cores_are_counted_up_to() -> None:
    assert thread_counts(1) == (1,)
    assert thread_counts(6) == (1, 2, 3, 4, 5, 6)
    assert thread_counts(12) == (1, 2, 4, 8, 12)
    assert thread_counts(64) == (1, 2, 4, 8, 16, 32, 64)
    assert chosen(None, cores=3) == [Setting(1, None), Setting(2, None), Setting(3, None)]
    assert chosen([2, 1, 2], ["kmp_close.env"]) == [
        Setting(1, "kmp_close.env"), Setting(2, "kmp_close.env")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("threads", "files", "says"),
    [
        ([3], [], "3 threads are more than the 2 cores of this node"),
        ([0], [], "threads = 0: write whole numbers from 1 on"),
        (["2"], [], "threads = '2': write whole numbers"),
        ([True], [], "threads = True"),
        ([], [], "0 settings are to be measured"),
        ([1], ["omp_full.env"], r"omp_full.env can't be used: omp_full.env, line 1: no"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    threads: list[Any], files: list[str], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        chosen(threads, files)


def test_each_setting_is_measured_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Setting] = []

    def rates(session: Any, part: str | None, setting: Setting) -> list[float]:
        seen.append(setting)
        return [float(setting.threads)]

    session: Any = type("S", (), {"lab": FIRST, "evidence": EVIDENCE, "progress": print})
    monkeypatch.setattr(sweep, "_rates", rates)
    settings = [Setting(1, None), Setting(2, None), Setting(4, None)]
    found = sweep.measure(session, None, settings, 5)
    assert found.rates_gb_s == {setting: (float(setting.threads),) * 5 for setting in settings}
    rounds = [seen[start : start + 3] for start in range(0, 15, 3)]
    assert all(set(of_round) == set(settings) for of_round in rounds)
    assert found.is_whole and not found.complaint


def test_an_interrupted_sweep_shows_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [True, True, False]

    def rates(session: Any, part: str | None, setting: Setting) -> list[float]:
        if not left.pop(0):
            raise Interrupted
        return [3.0]

    session: Any = type("S", (), {"lab": FIRST, "evidence": EVIDENCE, "progress": print})
    monkeypatch.setattr(sweep, "_rates", rates)
    settings = [Setting(1, None), Setting(2, None)]
    found = sweep.measure(session, None, settings, 5)
    assert not found.is_whole
    assert str(found).endswith("Interrupted: this is what was measured until then.")
    left[:] = [False]
    with pytest.raises(Interrupted):
        sweep.measure(session, None, settings, 5)


# ---- what is shown ---------------------------------------------------------------------------


def test_medians_stand_over_threads_with_their_intervals() -> None:
    found = Sweep(SECOND, "stream", RATES, EVIDENCE)
    lines = str(found).splitlines()
    assert lines[0].split() == ["GB/s", "kmp_close.env", "kmp_spread.env"]
    assert lines[1].startswith("1 thread ")
    assert "10.1 [9.00, 11.0]" in lines[1] and "10.1 [10.1, 10.1]" in lines[1]
    assert lines[2].startswith("2 threads") and lines[2].endswith("-")
    assert "order statistics" in " ".join(lines[-2:])
    assert max(map(len, lines)) <= 80
    figure = found.figure()
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    assert [len(curve.lines[0].get_xdata()) for curve in axes.containers] == [2, 1]
    assert axes.containers[0].lines[0].get_ydata()[1] == pytest.approx(12.15)
    assert figure.get_suptitle() == f"stream over threads, node {EVIDENCE.node['name']}"
    many = {Setting(n, None): (float(n),) * 6 for n in (1, 16, 64)}
    (axes,) = replace(found, rates_gb_s=many).figure().axes
    assert axes.get_xscale() == "log"
    assert LABS_OWN in str(replace(found, rates_gb_s=many))


def test_without_a_rate_there_is_a_sentence() -> None:
    failed = Sweep(FIRST, None, {}, EVIDENCE, complaint="kernel.c does not compile.")
    assert str(failed) == "kernel.c does not compile."
    with pytest.raises(NothingToDraw, match=r"kernel.c does not compile\."):
        failed.figure()
    with pytest.raises(NothingToDraw, match="nothing was measured"):
        Sweep(FIRST, None, {}, EVIDENCE).figure()


# ---- the call -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lab", "given", "says"),
    [
        ("01", {"part": "initialize"}, "01_first_touch: leave the part out"),
        ("02", {"part": "locate"}, "name the part to sweep, one of stream$"),
        ("03", {}, "one of pair_energy, stream_update"),
        ("06", {}, "runs ranks"),
        ("01", {"files": ["kmp_close.env"]}, "has no file 'kmp_close.env'"),
        ("01", {"rounds": 0}, "rounds = 0"),
        ("01", {"language": "ada"}, "there is no language 'ada'"),
    ],
)
def test_what_cant_be_swept_is_said(lab: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        find_lab(lab).sweep(**given)


def test_a_virtual_node_has_no_times() -> None:
    with pytest.raises(UserError, match="has no times that mean anything"):
        find_lab("01").on("hydra").sweep()


@pytest.mark.builds
def test_on_a_login_node_nothing_is_swept(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a notebook goes on."""
    monkeypatch.setattr("numalab.learning.api.is_login_node", lambda: True)
    found = find_lab("01", installation).sweep()
    assert "looks like a login node" in str(found)
    assert not found.rates_gb_s


@pytest.mark.builds
@pytest.mark.parametrize("language", ["c", "fortran"])
def test_a_kernel_is_swept_and_nothing_is_kept_of_it(
    installation: Installation, language: str
) -> None:
    lab: LearnerLab = find_lab("02", installation).at(installation.root / "solutions")
    kept = installation.results_folder(lab.name, language, "submission")
    before = json.dumps(sorted(map(str, kept.rglob("*"))))
    found = lab.sweep(language, threads=[1], files=["kmp_close.env", "omp_spread.env"], rounds=2)
    assert set(found.curves) == {"kmp_close.env", "omp_spread.env"}
    assert all(len(rates) == 2 and min(rates) > 0 for rates in found.rates_gb_s.values())
    assert json.dumps(sorted(map(str, kept.rglob("*")))) == before


@pytest.mark.builds
def test_a_kernel_that_does_not_work_is_told(installation: Installation, first_touch: Lab) -> None:
    lab = find_lab("01", installation)
    found = lab.sweep("c", source="int x\n", threads=[1])
    assert "kernel.c does not compile." in str(found)
    ends = lab.handout("c").replace("a[i] += b[i] * c[i];", "__builtin_trap();")
    found = lab.sweep("c", source=ends, threads=[1], rounds=2)
    assert "So no rate can be measured." in str(found)
    with pytest.raises(NothingToDraw, match="SIGILL"):
        found.figure()
