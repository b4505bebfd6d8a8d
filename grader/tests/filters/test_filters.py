"""Labs under kernels and containers that refuse system calls: no crash, and no other verdict than
usual but for what filters.toml declares not gradable.

What is judged: the verdicts of the kit's solutions and handouts under each filter, without times,
which follow from nothing that a filter refuses. What could pass and should not: a filter that
refuses nothing (so describe_node has to find each refusal), a criterion that is not gradable
though nothing needs it (so the declared list is exact), and one that passes by evidence that is
missing (so handouts have to miss what they miss)."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.commands import (
    assert_all_gone,
    environment,
    grade_json,
    statuses,
    without_times,
)
from support.filters import ALL, Filter, read_filters, run_under
from support.published_labs import published, row_of

from numalab.doctor.refused_calls import CALLS, refused_calls
from numalab.evidence.refused import recorded_node, refused
from numalab.grading.numalab_digests import MODULES
from numalab.harness.sandbox import NoSandbox, find_sandbox
from numalab.installation import Installation, find_installation
from numalab.judging.refusals import LOSSES, loss
from numalab.judging.rules import judges_answers
from numalab.labs.declaration import Lab, load_labs

Json = dict[str, Any]
FILTERS = read_filters()
LABS = published(load_labs(find_installation("gnu").root))
README = find_installation("gnu").root / "grader" / "README.md"
# What a node lacks whatever is refused, and times, which are not asked for here.
BY_NODE = {"too_few_numa_nodes", "too_few_cores", "huge_page_mode", "times_refused",
           "no_launch_here"}  # fmt: skip
# How work is shared shows in CPU time, which other load can hide: then it stays open, whatever is
# refused.
BY_LOAD = {"too_noisy", "not_decided", "node_paused"}
GRADED = ("01_first_touch", "02_affinity", "03_scheduling", "04_huge_pages", "05_memory_policy",
          "06_message_latency", "07_hybrid", "08_quiet_node", "10_false_sharing")  # fmt: skip

UNDER_DOCKERS = ("05_memory_policy", "07_hybrid")

by_filter = pytest.mark.parametrize("filter", FILTERS.values(), ids=FILTERS)


def declared(filter: Filter, lab: Lab) -> set[str]:
    losses = filter.losses(lab.name)
    if losses is None:
        return {c.name for c in lab.criteria if not judges_answers(c)}
    return set(losses)


# ---- the table itself --------------------------------------------------------------------------


def shown_losses(filter: Filter) -> str:
    lost = []
    for name, criteria in filter.not_gradable.items():
        number = name.split("_")[0]
        lost.append(f"{number} {'all' if criteria == ALL else ', '.join(criteria)}")
    return "; ".join(lost) or "nothing"


def shown_otherwise(filter: Filter) -> str:
    lost = [
        "the touch map is made in the student's process" if filter.in_process else "",
        "" if filter.sandbox else "no sandbox",
    ]
    return "; ".join(words for words in lost if words)


def table() -> str:
    lines = ["| filter | stands for | not gradable | otherwise |", "|---|---|---|---|"]
    for filter in FILTERS.values():
        stands_for = filter.stands_for + (f" ({filter.source})" if filter.source else "")
        cells = (f"`{filter.name}`", stands_for, shown_losses(filter), shown_otherwise(filter))
        lines.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
    return "\n".join(lines) + "\n"


def test_the_readme_has_the_table() -> None:
    assert table() in README.read_text(encoding="utf-8"), f"it should have:\n{table()}"


def test_the_table_names_criteria_that_there_are() -> None:
    for filter in FILTERS.values():
        for name, criteria in filter.not_gradable.items():
            names = {c.name for c in LABS[name].criteria}
            assert criteria == ALL or set(criteria) <= names, (filter.name, name)


def test_each_loss_is_probed_told_and_kept_apart_from_the_others() -> None:
    probes = [call.probe for call in CALLS]
    assert len(set(probes)) == len(probes)
    assert {lost.probe for lost in LOSSES} <= set(probes)
    # Which criteria a loss costs is judged, so a change judges records again.
    assert MODULES["judging"][0] == "verdict"


# ---- the filters -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def described(installation: Installation) -> dict[str, Json]:
    """What describe_node says under each filter."""
    return {
        name: json.loads(run_under(installation, filter, [installation.describe_node]).out)
        for name, filter in FILTERS.items()
    }


@pytest.fixture(scope="module")
def usual(installation: Installation) -> Json:
    done = subprocess.run([installation.describe_node], capture_output=True, text=True, check=True)
    node: Json = json.loads(done.stdout)
    if refused(node):
        pytest.skip(f"this node refuses calls itself: {refused(node)}")
    return node


@by_filter
def test_each_refusal_is_found(filter: Filter, described: dict[str, Json], usual: Json) -> None:
    assert set(refused(described[filter.name])) == filter.probes
    for name, error in refused(described[filter.name]).items():
        numbers = {word.split(":")[1] for word in filter.refuses}
        words = {"EPERM": "Operation not permitted", "ENOSYS": "Function not implemented"}
        assert error in {words[number] for number in numbers & set(words)}, name


@by_filter
def test_doctor_tells_each_refusal(filter: Filter, described: dict[str, Json], usual: Json) -> None:
    node = described[filter.name]
    lost = {f.topic: f for f in refused_calls(node, list(LABS.values())) if f.level != "good"}
    assert set(lost) == filter.probes
    for finding in lost.values():
        assert finding.observed.startswith("refused: ") and finding.means and finding.remedy
    costs = {
        (lab, criterion)
        for finding in lost.values()
        if finding.level == "bad"
        for lab, criteria in finding.concerns.items()
        for criterion in criteria
    }
    assert costs == {(lab.name, name) for lab in LABS.values() for name in declared(filter, lab)}


@by_filter
def test_just_what_is_declared_is_lost(
    filter: Filter, described: dict[str, Json], usual: Json
) -> None:
    """Of all labs on whatever node: this one may have too few NUMA nodes to show it."""
    node = msgspec.to_builtins(recorded_node(described[filter.name]))
    for lab in LABS.values():
        lost = {
            c.name for c in lab.criteria if not judges_answers(c) and loss(lab, c, node) is not None
        }
        row = f"'{lab.name} = {sorted(lost)}' of the filter {filter.name}"
        assert lost == declared(filter, lab), row_of(
            lab.name, row, "grader/tests/filters/filters.toml"
        )


def test_a_record_keeps_what_was_refused(described: dict[str, Json], usual: Json) -> None:
    assert "refused" not in msgspec.to_builtins(recorded_node(usual))
    kept = msgspec.to_builtins(recorded_node(described["docker"]))
    assert kept["refused"]["move_pages"] == "Operation not permitted"
    assert refused(kept) == refused(described["docker"])
    assert "evidence" not in kept


@pytest.mark.parametrize(
    ("words", "said"),
    [("no_such_call:EPERM", "no_such_call"), ("mbind:EIO", "EIO"), ("mbind", "mbind")],
)
def test_a_filter_that_is_not_known_is_refused(
    installation: Installation, words: str, said: str
) -> None:
    program = installation.build / "common" / "tests" / "refuse"
    done = subprocess.run(
        [program, words, "--", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 125 and said in done.stderr and "the rules are" in done.stderr


# ---- gradings ----------------------------------------------------------------------------------


def graded_under(
    installation: Installation,
    folder: Path,
    filter: Filter | None,
    lab: str,
    language: str,
    *more: str,
) -> tuple[Json, int, str]:
    """One kernel's result, the exit code, and what was said, without times."""
    env = without_times(folder)
    path = folder / "out.json"
    words = [
        installation.root / "numalab", "grade", lab, "--quick", "--here-only", "--lang", language,
        "--json", path, *more,
    ]  # fmt: skip
    if filter is None:
        done, data = grade_json(installation, folder, *map(str, words[2:]), **env)
    else:
        path.unlink(missing_ok=True)
        done = run_under(installation, filter, words, **env)
        assert path.is_file(), done.err
        data = json.loads(path.read_text())
    (result,) = data["results"]
    return result, done.code, done.out


def assert_passes_but_for(result: Json, filter: Filter, lab: Lab) -> None:
    lost = declared(filter, lab)
    for criterion in result["criteria"]:
        name, status, cause = criterion["name"], criterion["status"], criterion["cause"]
        if name in lost:
            assert status == "not_gradable", criterion
            assert cause in BY_NODE | {"not_visible_here"}, criterion
        elif status == "inconclusive":
            assert name == "balanced" and cause in BY_LOAD, criterion
        elif status != "pass":
            assert (status, cause in BY_NODE) == ("not_gradable", True), criterion
        if cause == "not_visible_here":
            assert any(probe in criterion["why"] for probe in filter.probes), criterion


def cases() -> list[Any]:
    """Lab 01 under each filter, and those on policies and MPI under Docker's; all under all with
    --all. One of the labs in Fortran."""
    found = []
    for lab in GRADED:
        for filter in FILTERS.values():
            is_usual = lab == "01_first_touch" or (filter.name == "docker" and lab in UNDER_DOCKERS)
            is_fortran = (lab, filter.name) == ("01_first_touch", "all_of_them")
            found.append(
                pytest.param(
                    filter, lab, "fortran" if is_fortran else "c", id=f"{lab}-{filter.name}",
                    marks=[] if is_usual else [pytest.mark.slow],
                )
            )  # fmt: skip
    return found


@pytest.mark.builds
@pytest.mark.parametrize(("filter", "lab", "language"), cases())
def test_solutions_pass_but_for_what_is_declared(
    installation: Installation, tmp_path: Path, usual: Json, filter: Filter, lab: str, language: str
) -> None:
    result, code, shown = graded_under(installation, tmp_path, filter, lab, language, "--solutions")
    assert code == 0, shown
    assert_passes_but_for(result, filter, LABS[lab])
    if filter.in_process and "touched_where_used" in statuses(result):
        record = next(installation.build.glob(f"results/{lab}/{language}/solution/evidence.json"))
        traces = [run for run in json.loads(record.read_text())["runs"] if run["kind"] == "trace"]
        assert traces and all(run["touch_map"]["method"] == "in_process" for run in traces)
    assert_all_gone(installation)


@cache
def usual_handout(installation: Installation, folder: Path, lab: str) -> Json:
    return graded_under(installation, folder, None, lab, "c", "--handouts")[0]


def handout_cases() -> list[Any]:
    usual = {("01_first_touch", name) for name in ("docker", "process_vm", "all_of_them", "pidfd")}
    return [
        pytest.param(filter, lab, id=f"{lab}-{filter.name}",
                     marks=[] if (lab, filter.name) in usual else [pytest.mark.slow])
        for lab in GRADED
        for filter in FILTERS.values()
    ]  # fmt: skip


@pytest.mark.builds
@pytest.mark.parametrize(("filter", "lab"), handout_cases())
def test_handouts_miss_what_they_miss(
    installation: Installation,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    usual: Json,
    filter: Filter,
    lab: str,
) -> None:
    """Nothing passes that fails without the filter, and nothing fails that passes."""
    before = statuses(usual_handout(installation, tmp_path_factory.getbasetemp(), lab))
    nodes = [c.handout_fails_from for c in LABS[lab].criteria if c.handout_fails_from is not None]
    assert "fail" in before.values() or min(nodes) > usual["numa_nodes"]
    result, _, shown = graded_under(installation, tmp_path, filter, lab, "c", "--handouts")
    lost = declared(filter, LABS[lab])
    for criterion in result["criteria"]:
        name, status = criterion["name"], criterion["status"]
        if name == "balanced" and name not in lost and "inconclusive" in (status, before[name]):
            assert {status, before[name]} <= {"inconclusive", "fail"}, shown
            continue
        if criterion["cause"] == "bad_file":  # fails whatever a node can show
            assert status == before[name] == "fail", shown
            continue
        assert status == ("not_gradable" if name in lost else before[name]), (name, shown)


@pytest.mark.builds
@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("name", ["docker", "podman_2021", "all_of_them"])
def test_times_are_taken_under_filters(
    installation: Installation, tmp_path: Path, usual: Json, name: str
) -> None:
    """Whether they decide is the node's affair; no process of a generation comes to a bad end."""
    path = tmp_path / "out.json"
    words = [
        installation.root / "numalab",
        "grade",
        "01",
        "03",
        "--quick",
        "--here-only",
        "--lang",
        "c",
        "--solutions",
        "--afresh",
        "--json",
        path,
    ]
    done = run_under(installation, FILTERS[name], words)
    assert done.code == 0, done.out
    for result in json.loads(path.read_text())["results"]:
        timed = {n: s for n, s in statuses(result).items() if "speedup" in n or n == "efficiency"}
        assert timed and set(timed.values()) <= {"pass", "inconclusive", "not_gradable"}, timed


# ---- filters over the kit's own sandbox, and other commands ------------------------------------


@pytest.mark.builds
def test_the_sandbox_works_under_a_filter(
    installation: Installation, tmp_path: Path, usual: Json
) -> None:
    """Podman's profile leaves namespaces; then the kit's own filter is a second one."""
    filter = FILTERS["podman_2021"]
    env = without_times(tmp_path)
    path = tmp_path / "out.json"
    words = [installation.root / "numalab", "grade", "01", "--quick", "--here-only", "--lang", "c",
             "--solutions", "--require-sandbox", "--json", path]  # fmt: skip
    found = find_sandbox(installation)
    if isinstance(found, NoSandbox):
        pytest.skip(f"{found.why}; {found.remedy}")
    done = run_under(installation, filter, words, **env)
    assert done.code == 0, done.err
    data = json.loads(path.read_text())
    assert data["sandbox"] == "bubblewrap"
    assert_passes_but_for(data["results"][0], filter, LABS["01_first_touch"])


def without_numa() -> list[str]:
    """What goes before a command so that /sys tells of no NUMA, as a kernel's does that is built
    without."""
    system = Path("/sys/devices/system")
    shown = [folder for folder in sorted(system.iterdir()) if folder.name != "node"]
    binds = (word for path in shown for word in ("--ro-bind", str(path), str(path)))
    return ["bwrap", "--dev-bind", "/", "/", "--tmpfs", str(system), *binds, "--"]


@pytest.mark.builds
def test_a_kernel_without_numa(installation: Installation, tmp_path: Path) -> None:
    """One node, as hwloc has it, and verdicts as under the filter alone."""
    found = find_sandbox(installation)
    if isinstance(found, NoSandbox):
        pytest.skip(f"{found.why}; {found.remedy}")
    filter = FILTERS["no_numa"]
    seen = subprocess.run(
        [*without_numa(), "ls", "/sys/devices/system"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "cpu" in seen and "node" not in seen
    path = tmp_path / "out.json"
    words = [
        *without_numa(),
        *filter.words(installation),
        installation.root / "numalab",
        "grade",
        "01",
        "--quick",
        "--here-only",
        "--lang",
        "c",
        "--solutions",
        "--json",
        path,
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False,
        env=environment(installation, **without_times(tmp_path)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data = json.loads(path.read_text())
    assert data["node"]["numa_nodes"] == 1
    assert_passes_but_for(data["results"][0], filter, LABS["01_first_touch"])


@pytest.mark.parametrize("name", ["user_namespaces", "docker"])
def test_no_sandbox_is_told(installation: Installation, tmp_path: Path, name: str) -> None:
    words = [installation.root / "numalab", "grade", "01", "--quick", "--here-only", "--lang", "c",
             "--solutions", "--require-sandbox"]  # fmt: skip
    done = run_under(installation, FILTERS[name], words, **without_times(tmp_path))
    assert done.code == 3 and not done.out
    assert "nothing was graded" in done.said and "user namespaces" in done.said


@pytest.mark.builds
@pytest.mark.parametrize("name", ["docker", pytest.param("pidfd", marks=pytest.mark.slow)])
def test_doctor_runs_under_a_filter(
    installation: Installation, tmp_path: Path, usual: Json, name: str
) -> None:
    path = tmp_path / "doctor.json"
    filter = FILTERS[name]
    done = run_under(
        installation, filter, [installation.root / "numalab", "doctor", "--json", path]
    )
    assert done.code == 0
    data = json.loads(path.read_text())
    for lab in GRADED:
        lost = set(data["labs"][lab]["not_gradable"])
        assert declared(filter, LABS[lab]) <= lost
        assert lost <= declared(filter, LABS[lab]) | {
            c.name for c in LABS[lab].criteria if c.needs_numa_nodes > usual["numa_nodes"]
        }
    for probe in filter.probes:
        assert f"{probe}: refused" in done.out


@pytest.mark.builds
@pytest.mark.slow
@pytest.mark.parametrize("name", ["docker", "no_numa", "all_of_them", "binding", "pidfd"])
@pytest.mark.parametrize(
    "command",
    [("explore", "02", "--quick", "--rounds", "1"), ("explore", "04", "--quick", "--rounds", "1"),
     ("portrait", "--rounds", "1"), ("machine", "run", "hydra", "--", "numactl", "-H")],
    ids=lambda command: "_".join(command[:2]),
)  # fmt: skip
def test_other_commands_end_well_or_say_why(
    installation: Installation, name: str, command: tuple[str, ...]
) -> None:
    """No traceback, and no failure that names no cause."""
    done = run_under(installation, FILTERS[name], [installation.root / "numalab", *command])
    assert done.code == 0 or (done.code in (2, 3) and done.said), (done.code, done.err)
    assert "numalab: " in done.err or done.out


def test_the_environment_has_no_filter_of_its_own(installation: Installation) -> None:
    """Else all of the above would be under two."""
    status = Path("/proc/self/status").read_text()
    if "Seccomp_filters:\t0" not in status:
        pytest.skip("the suite runs under a filter itself")
    done = subprocess.run(
        [*FILTERS["docker"].words(installation), "grep", "Seccomp_filters", "/proc/self/status"],
        capture_output=True, text=True, check=True, env=environment(installation),
    )  # fmt: skip
    assert done.stdout.split() == ["Seccomp_filters:", "1"]
