"""Which of the shell's variables reach which process; and nothing else starts any."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import steering
from support.commands import numalab_command

from numalab.doctor.doctor import shell_variables as finding_of
from numalab.evidence.repeats import outcomes
from numalab.harness import monitor
from numalab.harness.build import build_targets
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.processes import shell_variables, starting

SOURCE = Path(shell_variables.__file__).parents[1]
NOT_OF_BUILDS = (
    steering.TOPOLOGY | steering.THREADS | steering.MEMORY | steering.LOADER
    | steering.LOADER_THAT_SPEAKS | steering.SANITIZERS | steering.BUILD
    | {"PYTHONPATH": "x", "PYTHONHOME": "x"}
)  # fmt: skip
# Of them what places ranks and threads.
PLACING = (
    "OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_THREAD_LIMIT", "KMP_AFFINITY",
    "KMP_HW_SUBSET", "GOMP_CPU_AFFINITY", "MP_BIND", "HYDRA_BINDING", "HYDRA_HOST_FILE",
    "I_MPI_PIN_DOMAIN", "OMPI_MCA_hwloc_base_binding_policy", "PMI_RANK", "PMI_SIZE",
    "OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy",
    "SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST", "SLURM_MEM_BIND", "SLURM_HINT",
)  # fmt: skip
OF_LAUNCHERS = (
    "OMP_SCHEDULE", "OMP_STACKSIZE", "LD_PRELOAD", "MALLOC_ARENA_MAX", "UCX_TLS", "FI_PROVIDER",
    "I_MPI_FABRICS", "SLURM_JOB_ID", "SLURM_NODELIST", "MPIR_CVAR_NOLOCAL", "PMIX_MCA_gds",
)  # fmt: skip


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """All of it in this process's environment."""
    given = steering.STEERING | steering.LOADER_THAT_SPEAKS | steering.NEEDED
    given |= {"SLURM_JOB_ID": "7", "EDITOR": "vi"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


# ---- the tables --------------------------------------------------------------------------


def test_observers_get_what_is_wanted_and_nothing_else(everything: dict[str, str]) -> None:
    got = shell_variables.observer_environment()
    assert got.keys() <= shell_variables.OBSERVER_VARIABLES.keys()
    assert got["PATH"] == os.environ["PATH"]
    assert got["LD_LIBRARY_PATH"] == "/apps/lib"


def test_builds_get_all_but_what_steers(everything: dict[str, str]) -> None:
    got = shell_variables.builder_environment()
    assert not NOT_OF_BUILDS.keys() & got.keys()
    assert steering.NEEDED.items() <= got.items()
    assert got["EDITOR"] == "vi"


def test_launchers_keep_what_is_the_programs(everything: dict[str, str]) -> None:
    got = shell_variables.launcher_environment()
    assert not {*steering.TOPOLOGY, *PLACING} & got.keys()
    assert steering.NEEDED.items() <= got.items()
    assert set(OF_LAUNCHERS) <= got.keys()
    left = set(shell_variables.launcher_exclusions())
    assert left & everything.keys() == everything.keys() - got.keys()


def test_slurms_commands_get_nothing_of_the_job_that_calls_them(
    everything: dict[str, str],
) -> None:
    got = shell_variables.slurm_environment()
    assert [name for name in got if name.startswith("SLURM_")] == ["SLURM_CONF"]
    assert not NOT_OF_BUILDS.keys() & got.keys()


def test_guests_are_the_machines_that_they_are(everything: dict[str, str]) -> None:
    got = shell_variables.guest_environment()
    assert not steering.TOPOLOGY.keys() & got.keys()
    assert got["OMP_PLACES"] == "{0}"


def test_the_users_own_programs_get_their_python_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher has renamed what steers Python, and set two variables."""
    monkeypatch.setenv("NUMALAB_GIVEN_PYTHONPATH", "/mine")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    got = shell_variables.launcher_environment()
    assert got["PYTHONPATH"] == "/mine"
    assert "PYTHONSAFEPATH" not in got and "NUMALAB_GIVEN_PYTHONPATH" not in got
    assert "PYTHONPATH" in shell_variables.withheld_variables()


def test_each_row_has_a_reason_and_does_something() -> None:
    rows = shell_variables.LEFT_OUT
    for row in rows:
        assert row.why and row.names
        for pattern in row.names.split():
            found = shell_variables.row_of(pattern.replace("*", "X"))
            assert found is row, f"{pattern} is in another row before: {found}"
    reasons = (shell_variables.OBSERVER_VARIABLES, shell_variables.KEPT)
    assert all(why for table in reasons for why in table.values())


def test_doctor_names_what_was_found(everything: dict[str, str]) -> None:
    names = shell_variables.withheld_variables()
    assert names[0].startswith("HWLOC_")
    measured = everything.keys() - steering.BUILD.keys() - steering.NEEDED.keys() - {"EDITOR"}
    of_job = {name for name in measured if name.startswith("SLURM_")}
    assert measured - of_job <= set(names)
    assert not {"CFLAGS", "EDITOR", "PATH", "CC", "SLURM_JOB_ID"} & set(names)
    finding = finding_of(names)
    assert finding.level == "note" and "HWLOC_XMLFILE" in finding.observed
    assert "more" in finding.observed
    assert finding_of([]).level == "good"


# ---- no other way ------------------------------------------------------------------------

STARTERS = "run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"
OF_OS = (
    "system", "popen", "startfile", "posix_spawn", "posix_spawnp", "execl", "execle", "execlp",
    "execlpe", "execv", "execve", "execvp", "execvpe", "spawnl", "spawnle", "spawnlp", "spawnlpe",
    "spawnv", "spawnve", "spawnvp", "spawnvpe", "forkpty", "putenv",
)  # fmt: skip
OTHER_WAYS = frozenset({"multiprocessing", "pty", "pexpect", "sh", "asyncio", "_posixsubprocess"})
# Only reads what it was told by table, in a sandbox, with Python's own library alone.
ALONE = "harness/compile_apart.py"


def _parts(tree: ast.AST) -> Iterator[str]:
    """What of a module starts processes by itself, or takes the whole environment."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "os"):
            yield from (f"{node.module}.{name.name}" for name in node.names)
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.split(".")[0] in OTHER_WAYS)
        if not isinstance(node, ast.Attribute):
            continue
        of = node.value.id if isinstance(node.value, ast.Name) else ""
        above = parents[node]
        is_called = isinstance(above, ast.Call) and above.func is node
        if of == "subprocess" and node.attr in STARTERS and is_called:
            yield f"{of}.{node.attr}"
        if of == "os" and node.attr in OF_OS:
            yield f"{of}.{node.attr}"
        if node.attr in ("environ", "environb"):
            is_one = (
                isinstance(above, ast.Subscript)
                or (isinstance(above, ast.Compare) and node in above.comparators)
                or (isinstance(above, ast.Attribute) and above.attr in ("get", "setdefault"))
            )
            if not is_one:
                yield f"os.{node.attr}"


def test_processes_are_started_in_one_place() -> None:
    """With an environment of the tables: nobody else sees the whole of the user's."""
    found = {
        str(path.relative_to(SOURCE)): set(_parts(ast.parse(path.read_text(encoding="utf-8"))))
        for path in SOURCE.rglob("*.py")
    }
    found = {path: parts for path, parts in found.items() if parts}
    assert found == {
        "processes/starting.py": {"subprocess.run", "subprocess.Popen", "os.execvpe"},
        "processes/shell_variables.py": {"os.environ"},
        ALONE: {"subprocess.Popen"},
    }


@pytest.mark.parametrize(
    "text",
    ["import subprocess\nsubprocess.run(['x'])", "from subprocess import Popen",
     "import os\nenv = dict(os.environ)", "import os\nos.system('x')", "import multiprocessing",
     "import os\nrun(env=os.environ | {})", "import os\nos.environ.copy()"],
)  # fmt: skip
def test_the_look_for_other_ways_finds_them(text: str) -> None:
    assert list(_parts(ast.parse(text)))


USERS = {  # who may have the whole environment, and for what
    "installation.py",  # names of folders
    "commands/gradebook.py",  # the run's number at GitHub
    "commands/test.py", "course/jobs/local.py", "installing/install.py",  # numalab once more
    "commands/notebook.py",  # JupyterLab, whose kernels choose anew
}  # fmt: skip


def test_the_whole_environment_is_for_numalab_itself() -> None:
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "shell_variables.numalab_environment" in path.read_text(encoding="utf-8")
    }
    assert found == USERS


def test_a_process_gets_what_it_is_given(everything: dict[str, str]) -> None:
    program = [sys.executable, "-I", "-c", "import os; print(sorted(os.environ))"]
    seen = set(ast.literal_eval(starting.run(program, {"A": "1"}).stdout))
    assert "A" in seen and not everything.keys() & seen
    with starting.start(program, {"A": "1"}, stdout=subprocess.PIPE) as started:
        assert not everything.keys() & set(ast.literal_eval(started.communicate()[0].decode()))


# ---- real ones ---------------------------------------------------------------------------


@pytest.fixture(params=["an export", "an export of this machine", "a description", "all at once"])
def disguised(request: pytest.FixtureRequest) -> dict[str, str]:
    """Each way to have hwloc see another machine, and all variables together."""
    xml = {"HWLOC_XMLFILE": steering.TOPOLOGY["HWLOC_XMLFILE"]}
    return {
        "an export": xml,
        "an export of this machine": xml | {"HWLOC_THISSYSTEM": "1"},
        "a description": {
            name: steering.TOPOLOGY[name] for name in ("HWLOC_SYNTHETIC", "HWLOC_COMPONENTS")
        },
        "all at once": steering.STEERING | {"SLURM_JOB_ID": "7"},
    }[request.param]


@pytest.mark.builds
def test_a_machine_is_what_it_is(
    installation: Installation,
    first_touch: Lab,
    disguised: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = monitor.describe_node(installation)
    worker = installation.worker(first_touch.name, "c", "solution")
    build_targets(installation, [worker.name])
    options = [
        *monitor.worker_option("solution", worker),
        *monitor.common_options(None, 2, "quick", 60.0),
    ]
    for name, value in disguised.items():
        monkeypatch.setenv(name, value)
    told = monitor.describe_node(installation)
    same = ("numa_nodes", "cores", "pus", "memory_bytes")
    assert {key: told[key] for key in same} == {key: plain[key] for key in same}
    record = monitor.run_monitor(
        installation,
        first_touch,
        monitor.MonitorRun("check", options, monitor.worker_environment(first_touch, 2)),
    )
    assert {outcome.status for outcome in outcomes(record)} == {"ok"}


@pytest.mark.builds
def test_launch_plans_for_this_machine(
    installation: Installation, tmp_path: Path, disguised: dict[str, str]
) -> None:
    policy = tmp_path / "launch.toml"
    policy.write_text('ranks = { one_per = "numa_node" }\nbind_to = "numa_node"\n')
    words = ("launch", str(policy), "--print", "--", "env")
    plain, found = (
        numalab_command(installation, *words),
        numalab_command(installation, *words, **disguised),
    )
    assert plain.code == found.code == 0
    assert found.err == plain.err
    line, without = (done.out.replace("\\\n    ", "") for done in (found, plain))
    assert line.startswith("env -u HWLOC_")
    assert line.split("mpiexec ")[1] == without.split("mpiexec ")[1]


@pytest.mark.builds
def test_doctor_is_about_this_machine(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "doctor.json"
    given = steering.STEERING | {"SLURM_JOB_ID": "7"}
    assert numalab_command(installation, "doctor", "--json", str(path), **given).code == 0
    told = json.loads(path.read_text())
    plain = monitor.describe_node(installation)
    assert (told["node"]["pus"], told["node"]["cores"]) == (plain["pus"], plain["cores"])
    (named,) = [one for one in told["findings"] if one["topic"] == "variables"]
    assert named["found"].startswith("HWLOC_")


def test_names_have_one_star_at_most() -> None:
    """As shell_variables takes them: a beginning and an end, and no other sign of fnmatch."""
    for names in (*shell_variables.KEPT, *(row.names for row in shell_variables.LEFT_OUT)):
        for name in names.split():
            assert name.count("*") <= 1 and not set(name) & set("?[]"), name
    assert shell_variables.row_of("OMP_NUM_THREADS") and shell_variables.row_of("ASAN_OPTIONS")
    assert shell_variables.row_of("XOMP_NUM_THREADS") is None
