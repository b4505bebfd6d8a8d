"""What a node's /sys tells of its clock: read from made-up trees and recorded ones, and told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from governor_tree import make_recording, tree

from numalab.commands import governor
from numalab.commands.root import cli
from numalab.doctor.frequency_policies import FrequencyPolicy, Sampling, read_policies
from numalab.doctor.frequency_report import meaning, report

PU_FOLDER = "sys/devices/system/cpu"
SETTINGS = {
    "affected_cpus": "0 1",
    "cpuinfo_max_freq": "3000000",
    "cpuinfo_min_freq": "1000000",
    "cpuinfo_transition_latency": "20000",
    "scaling_available_governors": "ondemand performance powersave",
    "scaling_driver": "acpi-cpufreq",
    "scaling_governor": "ondemand",
    "scaling_max_freq": "3000000",
    "scaling_min_freq": "1000000",
}
TABLE = """   From  :    To
         :   3000000   2000000   1000000
  3000000:         0         4         9
  2000000:         2         0         3
  1000000:        11         1         0
"""
STATS = {
    "stats/time_in_state": "3000000 600\n2000000 100\n1000000 300\n",
    "stats/total_trans": "30",
    "stats/trans_table": TABLE,
}
LOOKS = {"ondemand/sampling_rate": "10000", "ondemand/up_threshold": "80"}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def node(root: Path, *policies: dict[str, str]) -> Path:
    """Of each policy what is other than SETTINGS; it is of two PUs, unless it says of which."""
    for number, own in enumerate(policies):
        first = 2 * number
        files = SETTINGS | {"affected_cpus": f"{first} {first + 1}"} | own
        write(root / PU_FOLDER / f"cpufreq/policy{first}", files)
    write(root / PU_FOLDER / "cpufreq", LOOKS)
    return root


def only(root: Path, **own: str) -> FrequencyPolicy:
    (found,) = read_policies(node(root, own))
    return found


# ---- reading -------------------------------------------------------------------------------------


def test_a_policy_is_read(tmp_path: Path) -> None:
    found = only(tmp_path, **STATS)
    assert found == FrequencyPolicy(
        name="policy0", pus=(0, 1), driver="acpi-cpufreq", governor="ondemand",
        governors=("ondemand", "performance", "powersave"), limits_khz=(1_000_000, 3_000_000),
        hardware_khz=(1_000_000, 3_000_000), latency_ns=20_000, sampling=Sampling(10_000, 80),
        has_stats=True, ticks={3_000_000: 600, 2_000_000: 100, 1_000_000: 300},
        transitions={
            (3_000_000, 2_000_000): 4, (3_000_000, 1_000_000): 9, (2_000_000, 3_000_000): 2,
            (2_000_000, 1_000_000): 3, (1_000_000, 3_000_000): 11, (1_000_000, 2_000_000): 1,
        },
        total=30, bad=(),
    )  # fmt: skip
    assert found.shares == {3_000_000: 0.6, 2_000_000: 0.1, 1_000_000: 0.3}
    assert found.average_khz == pytest.approx(2_300_000)


@pytest.mark.parametrize("seed", [1, 1234, 2012, 2**32 - 1])
def test_recorded_trees_are_read_by_the_same_reader(tmp_path: Path, seed: int) -> None:
    recorded = make_recording(seed)
    write(tmp_path, tree(recorded))
    (found,) = read_policies(tmp_path)
    assert found.ticks is not None and found.sampling is not None
    assert {khz: n for khz, n in found.ticks.items() if n} == dict(recorded.ticks)
    assert found.transitions == dict(recorded.transitions)
    assert (found.total, found.latency_ns) == (recorded.total, recorded.latency_ns)
    assert found.sampling == Sampling(recorded.sampling_us, recorded.up_threshold)
    assert (found.name, found.pus, found.bad) == ("cpu0", (0,), ())


def test_policies_come_by_number_and_one_folder_is_one_policy(tmp_path: Path) -> None:
    node(tmp_path, *[{} for _ in range(6)])
    assert [one.name for one in read_policies(tmp_path)] == [f"policy{2 * n}" for n in range(6)]
    old = tmp_path / "old"
    write(old / PU_FOLDER / "cpu0/cpufreq", SETTINGS)
    (old / PU_FOLDER / "cpu1").mkdir()
    (old / PU_FOLDER / "cpu1/cpufreq").symlink_to("../cpu0/cpufreq")
    (old / PU_FOLDER / "cpu2").mkdir()
    assert [one.name for one in read_policies(old)] == ["cpu0"]


def test_a_policys_own_settings_come_before_those_of_all(tmp_path: Path) -> None:
    own = {"ondemand/sampling_rate": "40000"}
    assert only(tmp_path, **own).sampling == Sampling(40_000, 80)
    assert only(tmp_path / "other", scaling_governor="schedutil").sampling is None


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("stats/trans_table", TABLE.replace("         3\n", "\n")),
        ("stats/trans_table", "\n".join(TABLE.splitlines()[:3])),
        ("stats/trans_table", "too large"),
        ("stats/time_in_state", "3000000 600 7"),
        ("stats/time_in_state", "3000000 -600"),
        ("stats/total_trans", "1e3"),
        ("scaling_governor", "\x1b[31mred"),
        ("affected_cpus", "0-3"),
        ("cpuinfo_transition_latency", "9" * 5000),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, file: str, text: str) -> None:
    found = only(tmp_path, **(STATS | {file: text}))
    assert found.bad == (file,)
    shown = "\n".join(report([found]))
    assert file in shown and "\x1b" not in shown


def test_what_can_not_be_read_is_named_and_what_is_missing_is_not(tmp_path: Path) -> None:
    """Linux refuses a table of more than a page."""
    folder = node(tmp_path, STATS) / PU_FOLDER / "cpufreq/policy0"
    for name in ("stats/trans_table", "scaling_driver"):
        (folder / name).unlink()
        (folder / name).mkdir()
    (folder / "cpuinfo_transition_latency").unlink()
    (tmp_path / PU_FOLDER / "cpufreq/ondemand/up_threshold").write_text("many")
    (found,) = read_policies(tmp_path)
    assert set(found.bad) == {"stats/trans_table", "scaling_driver", "../ondemand/up_threshold"}
    assert (found.driver, found.transitions, found.latency_ns) == (None, None, None)
    assert found.sampling == Sampling(10_000, None) and found.total == 30
    shown = "\n".join(report([found]))
    assert "can't be made out" in shown and "transitions           30" in shown


def test_a_driver_may_not_know_its_latency_and_count_nothing(tmp_path: Path) -> None:
    own = {"cpuinfo_transition_latency": "4294967295", "stats/time_in_state": ""}
    found = only(tmp_path, **own)
    assert (found.latency_ns, found.ticks, found.shares, found.bad) == (None, None, None, ())
    assert "the driver does not say" in "\n".join(report([found]))


# ---- telling -------------------------------------------------------------------------------------


def flat(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_policies_that_are_alike_are_told_together(tmp_path: Path) -> None:
    busier = STATS | {"stats/time_in_state": "3000000 900\n1000000 100", "stats/total_trans": "70"}
    root = node(tmp_path, STATS, {}, busier, {"scaling_governor": "performance"})
    lines = report(read_policies(root))
    shown = flat(lines)
    assert "3 policies, policy0 and those alike; PUs: 0-5" in shown
    assert "policy6; PUs: 6,7" in shown
    assert shown.count("governor ondemand; also available: performance and powersave") == 1
    # 600 + 900 of 2,000 ticks
    assert "  time at 3,000 MHz     ##############################..........       75 %" in lines
    assert "average over the time 2,300 MHz to 2,800 MHz, by policy" in shown
    assert (
        "transitions 100, by policy 30 to 70; most often from 1,000 MHz to 3,000 MHz: 22 times"
        in shown
    )
    assert "Linux keeps no count of policy2: there is no stats folder" in shown
    assert "Policies differ (governor)" in shown


def test_many_policies_and_frequencies_fit_a_terminal(tmp_path: Path) -> None:
    states = range(800_000, 3_200_000, 100_000)
    stats = {"stats/time_in_state": "\n".join(f"{khz} {khz // 1000}" for khz in states)}
    own = [stats | {"stats/total_trans": f"{n}"} for n in range(100)]
    root = node(tmp_path, *own, {"stats/total_trans": "x", "scaling_max_freq": "2000000"})
    lines = report(read_policies(root))
    assert max(map(len, lines)) <= 80 and len(lines) < 60
    assert any(line.startswith("  at others") for line in lines)


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, "`ondemand` follows the load"),
        ({"scaling_governor": "performance"}, "the highest frequency that is allowed"),
        ({"scaling_governor": "powersave"}, "the lowest frequency that is allowed"),
        ({"scaling_governor": "powersave", "scaling_driver": "intel_pstate"}, "no fixed low clock"),
        (
            {"scaling_governor": "powersave", "scaling_driver": "amd-pstate-epp"},
            "no fixed low clock",
        ),
        ({"scaling_governor": "userspace"}, "where a program has put it"),
        ({"scaling_governor": "invented"}, "no governor that the kit knows"),
        ({"scaling_max_freq": "2000000"}, "policy0 the highest frequency is not allowed"),
        (STATS, "the difference of two looks"),
        (STATS, "took 0.0006 s at most"),
    ],
)
def test_what_it_means_is_told(tmp_path: Path, own: dict[str, str], told: str) -> None:
    assert told in " ".join(meaning([only(tmp_path, **own)]))


@pytest.mark.parametrize(
    ("own", "is_told"),
    [
        ({}, True),
        ({"scaling_available_governors": "ondemand"}, False),
        ({"scaling_governor": "performance"}, False),
    ],
)
def test_who_has_no_performance_to_choose_is_not_told_to(
    tmp_path: Path, own: dict[str, str], is_told: bool
) -> None:
    shown = flat(report([only(tmp_path, **own)]))
    assert ("cpupower frequency-set -g performance" in shown) == is_told


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_tells_of_this_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(governor, "ROOT", node(tmp_path, STATS))
    done = CliRunner().invoke(cli, ["governor", "--here"])
    assert done.exit_code == 0, done.output
    assert "driver                acpi-cpufreq" in done.output
    assert "Name a number" not in done.output and "most_from_khz" not in done.output


def test_where_there_is_no_driver_a_recording_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / PU_FOLDER / "cpufreq").mkdir(parents=True)
    monkeypatch.setattr(governor, "ROOT", tmp_path)
    done = CliRunner().invoke(cli, ["governor", "--here"])
    assert done.exit_code == 0
    assert "./numalab governor 1234 --output recording" in " ".join(done.output.split())
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize("words", [[], ["5", "--here"], ["--here", "--output", "x"]])
def test_a_number_or_this_node(words: list[str]) -> None:
    assert CliRunner().invoke(cli, ["governor", *words]).exit_code == 2
