"""What a grading lets into a virtual node, and what a kernel sees of it there."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from numalab.virtual import guest_sandbox
from numalab.virtual.qemu_process import is_own_end

USR = Path("/usr")


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build folder with a monitor, two workers and what becomes one."""
    for name in ("monitor", "submission", "solution", "guest_confine"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_only_the_programs_of_a_command_come_along(build: Path) -> None:
    command = [
        str(build / "monitor"), "trace", "--sandbox", str(build / "guest_confine"),
        "--worker", f"submission={build}/submission", "--n", "7",
    ]  # fmt: skip
    there = guest_sandbox.command_for(command, [USR], [build])
    assert there.arguments == (
        "/numalab/monitor", "trace", "--sandbox", "/numalab/guest_confine",
        "--worker", "submission=/numalab/submission", "--n", "7",
    )  # fmt: skip
    assert set(there.programs) == {
        "/numalab/monitor", "/numalab/guest_confine", "/numalab/submission"
    }  # fmt: skip
    assert there.programs["/numalab/submission"] == build / "submission"


def test_what_a_student_writes_names_no_program(build: Path) -> None:
    """A variable of a placement file is the student's, as words for mpiexec may be."""
    solution = str(build / "solution")
    command = [
        str(build / "monitor"), "--set", f"submission:OMP_PLACES={solution}",
        "--launch", f"submission:{solution}", solution,
    ]  # fmt: skip
    there = guest_sandbox.command_for(command, [USR], [build])
    assert list(there.programs) == ["/numalab/monitor"]
    assert there.arguments[1:] == tuple(command[1:])


def test_programs_of_the_system_stay_where_they_are_and_the_kits_do_not(build: Path) -> None:
    assert guest_sandbox.command_for(["/usr/bin/env", "x"], [USR], [build]).programs == {}
    assert guest_sandbox.command_for(["env", "x"], [USR], [build]).arguments == ("env", "x")
    beside = guest_sandbox.command_for([str(build / "monitor")], [build.parent], [build])
    assert list(beside.programs) == ["/numalab/monitor"], "its folder may lie in a visible one"


def test_two_programs_of_one_name_are_not_mixed_up(build: Path) -> None:
    other = build / "other"
    other.mkdir()
    (other / "monitor").write_text("")
    command = [str(build / "monitor"), "--worker", f"solution={other}/monitor"]
    with pytest.raises(ValueError, match="two programs"):
        guest_sandbox.command_for(command, [USR], [build])


def test_of_the_environment_only_what_is_needed_comes_along() -> None:
    given = {
        "OMP_PLACES": "cores", "LANG": "C", "HOME": "/home/u", "TOKEN": "secret", "USER": "u",
        "NUMALAB_STARTED": "1", "SLURM_JOB_ID": "1", "PYTHONPATH": "/home/u", "OMPX": "no",
        "PATH": "/home/u/bin:/usr/bin:relative::/usr/local/bin", "LD_LIBRARY_PATH": "/home/u/lib",
    }  # fmt: skip
    assert guest_sandbox.environment_for(given, [USR]) == {
        "OMP_PLACES": "cores", "LANG": "C", "PATH": "/usr/bin:/usr/local/bin", "TMPDIR": "/tmp"
    }  # fmt: skip
    assert guest_sandbox.environment_for({}, [USR])["PATH"]


def test_no_folder_of_the_kits_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation, site = tmp_path / "kit", tmp_path / "site" / "lib"
    libraries = {site, installation / "lib", tmp_path, USR / "lib"}
    for folder in libraries:
        folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(guest_sandbox, "library_folders", lambda program: libraries)
    found = guest_sandbox.folders_for([Path("monitor")], [installation])
    assert USR in found and site in found
    assert not any(installation == folder or installation in folder.parents for folder in found)
    assert tmp_path not in found, "it holds the kit"
    assert found.count(USR) == 1 and USR / "lib" not in found, "it is seen already"


def words(options: list[str]) -> list[str]:
    return [word for option, word in pairwise(options) if option == "--sandbox-word"]


@pytest.mark.parametrize("uid", [0, 1000])
def test_a_worker_is_never_root(monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(os, "getgid", lambda: uid)
    monkeypatch.setattr(os, "getgroups", lambda: [0, uid, 27])
    user, groups = guest_sandbox.worker_user()
    assert user == (uid or guest_sandbox.STRANGER)
    assert groups == ([1000, 27] if uid else [guest_sandbox.STRANGER]), "nor of root's group"


def test_a_kit_within_the_system_is_covered() -> None:
    installation, elsewhere = Path("/usr/local/numalab"), Path("/srv/numalab")
    options = guest_sandbox.monitor_options(
        Path("/c"), guest_sandbox.GuestView([USR], [installation, elsewhere], 4, 1 << 30)
    )
    told = words(options)
    assert told[:2] == ["/init", "--user"]
    assert [told[i + 1] for i, word in enumerate(told) if word == "--cover"] == [str(installation)]
    assert told.index("--cover") > told.index("/usr")
    assert options[options.index("--sandbox-user") + 1] == told[2].split(":")[0]


def test_a_job_on_two_nodes_sees_no_more_than_a_worker() -> None:
    sight = guest_sandbox.GuestView([USR], [Path("/usr/local/numalab")], 4, 1 << 30)
    job = guest_sandbox.job_words(sight, "/delivered")
    assert job[3] == "--share-net"
    assert [job[i + 1] for i, word in enumerate(job) if word == "--bind"] == ["/delivered"]
    worker = guest_sandbox.sandbox_words(sight)
    assert job[:3] == worker[:3] and job[-len(worker[3:]) :] == worker[3:]
    shown = [job[i + 1] for i, word in enumerate(job) if word == "--ro-bind"]
    assert set(shown) - set(worker[3:]) == {
        "/init", "/numalab", "/numalab-finalize.so", "/etc/numalab-nodes"
    }  # fmt: skip


@pytest.mark.parametrize("memory_mib", [160, 512, 65536])
def test_folders_in_memory_leave_most_of_it(memory_mib: int) -> None:
    told = words(
        guest_sandbox.monitor_options(
            Path("/c"), guest_sandbox.GuestView([USR], [], 64, memory_mib << 20)
        )
    )
    sizes = {told[i + 2]: int(told[i + 1]) for i, word in enumerate(told) if word == "--tmpfs"}
    assert set(sizes) == {"/tmp", "/dev/shm"}
    assert sum(sizes.values()) <= (memory_mib << 20) / 3


@pytest.mark.parametrize(
    ("code", "is_own"),
    [
        (0, True), (-signal.SIGSEGV, True), (-signal.SIGABRT, True),
        (None, False), (1, False), (-signal.SIGKILL, False), (-signal.SIGTERM, False),
    ],
)  # fmt: skip
def test_whose_doing_an_end_is(code: int | None, is_own: bool) -> None:
    assert is_own_end(code) is is_own


# ---- whole -----------------------------------------------------------------------------------


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    """1000 with groups 1000 and 27, on a system with one link and one file of its own."""
    monkeypatch.setattr(guest_sandbox, "worker_user", lambda: (1000, [1000, 27]))
    monkeypatch.setattr(guest_sandbox, "system_links", lambda: iter([("usr/bin", "/bin")]))
    monkeypatch.setattr(guest_sandbox, "_SYSTEM_FILES", ("/etc", "/etc/no-such-file"))


@pytest.mark.parametrize(
    ("cores", "memory_mib", "shared_mib", "tmp_mib"),
    [(4, 1024, 128, 16), (64, 8192, 1088, 16), (1, 160, 40, 10), (12, 1024, 256, 16)],
)
def test_what_a_worker_sees(
    user: None, cores: int, memory_mib: int, shared_mib: int, tmp_mib: int
) -> None:
    """64 MiB are shared and 16 for each core, a quarter of the memory at most; 16 in /tmp, a
    sixteenth at most."""
    hidden = [Path("/usr/local/kit"), Path("/srv/kit"), Path("/opt")]
    sight = guest_sandbox.GuestView([USR, Path("/opt")], hidden, cores, memory_mib << 20)
    words = [
        "/init", "--user", "1000:1000:27", "--ro-bind", "/usr", "/usr", "--ro-bind", "/opt", "/opt",
        "--symlink", "usr/bin", "/bin", "--ro-bind", "/etc", "/etc",
        "--cover", "/usr/local/kit", "--cover", "/opt",
        "--tmpfs", str(shared_mib << 20), "/dev/shm", "--tmpfs", str(tmp_mib << 20), "/tmp",
    ]  # fmt: skip
    assert guest_sandbox.sandbox_words(sight) == words
    assert guest_sandbox.monitor_options(Path("/c"), sight) == [
        "--sandbox", "/c", "--sandbox-user", "1000",
        *(option for word in words for option in ("--sandbox-word", word)),
    ]  # fmt: skip
    more = ["--share-net"]
    for path in ("/init", "/numalab-finalize.so", "/etc/numalab-nodes", "/numalab"):
        more += ["--ro-bind", path, path]
    more += ["--symlink", "/init", "/numalab-remote", "--bind", "/out", "/out"]
    assert guest_sandbox.job_words(sight, "/out") == [*words[:3], *more, *words[3:]]


def test_a_worker_has_so_many_groups_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 7)
    monkeypatch.setattr(os, "getgid", lambda: 0)
    monkeypatch.setattr(os, "getgroups", lambda: [3, 0, 3, *range(100, 200)])
    assert guest_sandbox.worker_user() == (7, [3, *range(100, 163)])
    monkeypatch.setattr(os, "getgroups", list)
    assert guest_sandbox.worker_user() == (7, [65533])


def test_libraries_are_where_ldd_finds_them_and_where_links_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    for folder in (real, link):
        folder.mkdir()
    (real / "liba.so.1").touch()
    (link / "liba.so").symlink_to(real / "liba.so.1")
    ldd = tmp_path / "ldd"
    ldd.write_text(
        f"#!/bin/sh\necho 'linux-vdso.so.1 (0x7)\nlibb.so => not found\n/lib64/ld.so (0x7)\n"
        f"\tliba.so => {link}/liba.so (0x7)'\n"
    )
    ldd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert guest_sandbox.library_folders(Path("program")) == {link, real}


def test_links_of_the_system_are_told_with_where_they_lead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "usr/bin").mkdir(parents=True)
    names = tuple(str(tmp_path / name) for name in ("bin", "usr", "none"))
    monkeypatch.setattr(guest_sandbox, "SYSTEM_FOLDERS", names)
    assert list(guest_sandbox.system_links()) == [("usr/bin", names[0])]
    asked: list[object] = []

    def other_roots(*how: object) -> list[str]:
        asked.extend(how)
        return ["/srv/mpi", "/srv", "/kit/lib"]

    monkeypatch.setattr(guest_sandbox, "other_roots", other_roots)
    monkeypatch.setattr(guest_sandbox, "library_folders", lambda program: {program.parent})
    programs = [Path("/srv/a/p"), tmp_path / "usr/x/p"]
    hidden = [Path("/kit"), Path("/srv/b/kit")]
    assert guest_sandbox.folders_for(programs, hidden) == [
        tmp_path / "usr", Path("/srv/a"), Path("/srv/mpi")
    ], "/srv holds one of the hidden ones"  # fmt: skip
    assert asked == [["mpiexec"], {}, Path("/kit")]


def test_variables_are_of_parallel_programs_and_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir("/usr")
    names = (
        "OMP_A", "KMP_A", "GOMP_A", "GFORTRAN_A", "MPICH_A", "MPIR_A", "MPIEXEC_A", "HYDRA_A",
        "HWLOC_A", "UCX_A", "FI_A", "LANG", "LC_ALL",
    )  # fmt: skip
    given = dict.fromkeys((*names, "LANGUAGE", "LC_CTYPE", "A_OMP_", "PMI_RANK"), "1")
    given |= {"PATH": "/opt/x:bin:/usr", "LD_LIBRARY_PATH": "/usr/lib:/opt", "TMPDIR": "/scratch"}
    own = {"PATH": "/usr", "LD_LIBRARY_PATH": "/usr/lib", "TMPDIR": "/tmp"}
    assert guest_sandbox.environment_for(given, [USR]) == dict.fromkeys(names, "1") | own
    usual = {"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp"}
    assert guest_sandbox.environment_for({"PATH": "/opt"}, [USR]) == usual


def test_a_program_that_is_not_there_stays_a_word(
    build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(build)
    assert guest_sandbox.command_for(["monitor"], [], []) == guest_sandbox.GuestCommand(
        ("monitor",), {}
    )
    none, monitor = str(build / "none"), str(build / "monitor")
    there = guest_sandbox.command_for(
        [none, "--worker", "a=b=c", "--worker", monitor, monitor], [], []
    )
    assert there == guest_sandbox.GuestCommand(
        (none, "--worker", "a=b=c", "--worker", monitor, monitor), {}
    )
    twice = guest_sandbox.command_for([monitor, "--sandbox", monitor], [], [])
    assert twice.arguments == ("/numalab/monitor", "--sandbox", "/numalab/monitor")
