"""A Slurm of this machine's own: munge, a controller, and nodes that all are this machine.

Everything lies in one folder and ends with the process that started it. Packages are unpacked
and not installed: on a machine with sinfo in its path numalab takes no times outside of jobs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = (
    "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "libmunge2",
)  # fmt: skip
FETCH_LIMIT_S = 300
START_LIMIT_S = 180
IDLE_LIMIT_S = 300  # also on a busy machine, where nodes are taken for dead now and then


class NoSlurm(Exception):
    """It can't be had here; says why."""


@dataclass(frozen=True)
class Programs:
    """Where the unpacked packages lie."""

    root: Path

    def __getitem__(self, name: str) -> Path:
        """Debian's daemons are called after the workload manager, since there are others."""
        for folder in ("usr/bin", "usr/sbin"):
            for file in (f"{name}-wlm", name):
                path = self.root / folder / file
                if path.is_file():
                    return path
        raise NoSlurm(f"the packages have no program {name}")

    @property
    def plugins(self) -> Path:
        found = list(self.root.glob("usr/lib/*/slurm*/auth_munge.so"))
        if not found:
            raise NoSlurm("the packages have no plugin auth_munge.so")
        return found[0].parent

    @property
    def environment(self) -> dict[str, str]:
        libraries = [self.plugins.parent, self.plugins]
        before = os.environ.get("LD_LIBRARY_PATH")
        return {
            "LD_LIBRARY_PATH": ":".join([*map(str, libraries), *([before] if before else [])]),
            "PATH": f"{self.root / 'usr' / 'bin'}:{os.environ['PATH']}",
        }


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip().splitlines() or ["it said nothing"])[-1]


def fetched(store: Path) -> Programs:
    """Slurm's packages, downloaded as any user may and unpacked, once. Raises NoSlurm."""
    final = store / "slurm"
    programs = Programs(final)
    if not final.is_dir():
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise NoSlurm("without apt Slurm's packages can't be fetched")
        partial = store / f".slurm-{secrets.token_hex(4)}"
        (partial / "packages").mkdir(parents=True)
        try:
            done = subprocess.run(
                ["apt-get", "download", "-o", "APT::Sandbox::User=root", *PACKAGES],
                cwd=partial / "packages", capture_output=True, text=True, check=False,
                timeout=FETCH_LIMIT_S,
            )  # fmt: skip
            if done.returncode != 0:
                raise NoSlurm(f"Slurm's packages can't be fetched: {_said(done)}")
            for package in sorted((partial / "packages").glob("*.deb")):
                subprocess.run(["dpkg-deb", "-x", str(package), str(partial / "root")], check=True)
            with contextlib.suppress(OSError):  # another one was faster
                (partial / "root").rename(final)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    done = subprocess.run(
        [str(programs["slurmctld"]), "-V"], env=os.environ | programs.environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise NoSlurm(f"Slurm's programs don't run here: {_said(done)}")
    return programs


def _free_ports(count: int) -> list[int]:
    """That nobody listens on just now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def configuration(
    folder: Path, plugins: Path, nodes: Sequence[str], ports: Sequence[int], user: str, host: str
) -> str:
    """slurm.conf. ports: the controller's, then one for each node."""
    lines = [
        "ClusterName=numalab",
        f"SlurmctldHost={host}(127.0.0.1)",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        "AuthType=auth/munge",
        # A job that could not be started on a node waits so long before it is tried again.
        f"AuthInfo=socket={folder}/munge/socket,cred_expire=15",
        f"PluginDir={plugins}",
        f"SlurmctldPort={ports[0]}",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd-%n.pid",
        f"SlurmdSpoolDir={folder}/spool-%n",
        f"StateSaveLocation={folder}/state",
        f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd-%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "SwitchType=switch/none",
        "MpiDefault=none",
        "SelectType=select/linear",
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "SlurmctldTimeout=10",
        "SlurmdTimeout=10",
        "KillWait=3",
        "SchedulerParameters=batch_sched_delay=0,sched_min_interval=0",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=CANCEL",
    ]  # fmt: skip
    lines += [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000"
        for name, port in zip(nodes, ports[1:], strict=True)
    ]
    shared = "Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
    lines += [
        f"PartitionName=main {shared} Default=YES PriorityTier=1",
        f"PartitionName=urgent {shared} PriorityTier=10",
    ]
    return "\n".join(lines) + "\n"


@dataclass
class OwnSlurm:
    """Started by start, ended by stop; each daemon can be killed and started again."""

    folder: Path
    programs: Programs
    nodes: tuple[str, ...]
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """With which commands find it, and no other."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))}
        return kept | self.programs.environment | {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> None:
        """Raises NoSlurm with the daemons' own words."""
        munge = self.folder / "munge"
        munge.mkdir(mode=0o700, parents=True)
        (self.folder / "state").mkdir()
        (munge / "key").write_bytes(secrets.token_bytes(128))
        (munge / "key").chmod(0o600)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True)
        (self.folder / "slurm.conf").write_text(
            configuration(
                self.folder, self.programs.plugins, self.nodes,
                _free_ports(1 + len(self.nodes)), user.stdout.strip(), socket.gethostname(),
            )
        )  # fmt: skip
        self._start(
            "munged", "--foreground", "--force", f"--key-file={munge}/key",
            f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
            f"--seed-file={munge}/seed",
        )  # fmt: skip
        self._wait(lambda: (munge / "socket").exists(), "munged")
        self.start_controller()
        for name in self.nodes:
            self.start_node(name)
        self._wait(lambda: self.idle_nodes() == len(self.nodes), "nodes")

    def _start(self, program: str, *arguments: str, key: str = "") -> None:
        with (self.folder / f"{key or program}.out").open("ab") as output:
            self._running[key or program] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", str(self.programs[program]), *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.environment,
                start_new_session=True,
            )  # fmt: skip

    def _wait(self, is_so: Callable[[], bool], what: str, limit_s: float = START_LIMIT_S) -> None:
        deadline_s = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > deadline_s:
                said = "\n".join(
                    path.read_text(errors="replace")[-600:] for path in self.folder.glob("*.out")
                )
                for words in (["sinfo", "-N", "-l"], ["squeue", "-l"]):
                    said += "\n" + self.command(*words).stdout
                raise NoSlurm(f"Slurm's {what} did not come up:\n{said}")
            time.sleep(0.1)

    def start_controller(self, first_job: int | None = None) -> None:
        """first_job: no job has a lower number. Else one that was killed may give numbers once
        more, and such a job is lost: it takes Slurm a minute to see that it was never begun."""
        if first_job is not None:
            with (self.folder / "slurm.conf").open("a") as conf:
                conf.write(f"FirstJobId={first_job}\n")
        self._start("slurmctld", "-D")

    def start_node(self, name: str) -> None:
        """As slurmd and its own slurmstepd, of the packages."""
        step = str(self.programs["slurmstepd"])
        (self.folder / f"spool-{name}").mkdir(exist_ok=True)
        self._start("slurmd", "-D", "-N", name, "-d", step, key=name)

    def kill(self, what: str) -> None:
        """kill -9 of the controller ("slurmctld") or of a node by its name."""
        process = self._running.pop(what)
        process.kill()
        process.wait()

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.programs[words[0]]), *words[1:]], env=self.environment,
            capture_output=True, text=True, check=False, timeout=START_LIMIT_S,
        )  # fmt: skip

    def idle_nodes(self) -> int:
        said = self.command("sinfo", "--noheader", "--partition=main", "--format=%D %t").stdout
        return sum(
            int(line.split()[0]) for line in said.splitlines() if line.split()[1:] == ["idle"]
        )

    def resume_drained(self) -> bool:
        """What an administrator does: a controller that was killed gives the numbers of jobs that
        it has forgotten once more, and takes nodes out of service that have run one of them.
        So are those that did not answer in time. Whether there were such nodes."""
        said = self.command("sinfo", "--noheader", "--partition=main", "--states=drain,down",
                            "--format=%N").stdout.split()  # fmt: skip
        if said:
            self.command("scontrol", "update", f"nodename={','.join(said)}", "state=resume")
        return bool(said)

    def _are_idle(self) -> bool:
        self.resume_drained()
        return self.idle_nodes() == len(self.nodes)

    def until_idle(self) -> None:
        """Nobody waits for jobs that are left, as those that a killed controller has forgotten."""
        self._cancel_all()
        self._wait(self._are_idle, "nodes", IDLE_LIMIT_S)

    def _cancel_all(self) -> None:
        self.command("scancel", f"--user={os.getuid()}")

    def stop(self) -> None:
        """Jobs, too: no process of it is left."""
        self._cancel_all()
        for key in [*self.nodes, "slurmctld", "munged"]:
            process = self._running.pop(key, None)
            if process is not None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        deadline_s = time.monotonic() + START_LIMIT_S
        while (left := self.left_over()) and time.monotonic() < deadline_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)  # they are gone when their turn comes

    def left_over(self) -> list[int]:
        """Processes that were started by its nodes, and the steps' keepers."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        return [
            pid for pid, words in _environments().items() if mark in words and pid != os.getpid()
        ]


def _environments() -> Mapping[int, list[bytes]]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found[int(entry.name)] = (entry / "environ").read_bytes().split(b"\0")
    return found
