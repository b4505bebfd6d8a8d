"""Render plans of ranks as command lines of launchers: MPICH's and Intel MPI's mpiexec, Open MPI's
mpirun, and Slurm's srun. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numalab.labs.launch import BadPolicy, RankPlan

LINE_COLUMNS = 80


@dataclass(frozen=True)
class Command:
    """A command line and its environment."""

    words: tuple[tuple[str, ...], ...]  # the arguments, in groups that belong together
    environment: Mapping[str, str]  # variables that it needs in addition to the caller's

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word for group in self.words for word in group)

    def shell_line(self, unset: Sequence[str] = ()) -> str:
        """Return the command as text for a shell, on several lines where it is long. unset: the
        caller's variables that it must not get."""
        groups = [shlex.join(group) for group in self.words]
        settings = [f"{key}={shlex.quote(value)}" for key, value in self.environment.items()]
        if unset:
            settings.insert(0, " ".join(["env", *(f"-u {name}" for name in unset)]))
        lines = [""]
        for part in (*settings, *groups):
            joined = f"{lines[-1]} {part}" if lines[-1] else part
            if len(joined) > LINE_COLUMNS - 2 and lines[-1]:
                lines.append(f"    {part}")
            else:
                lines[-1] = joined
        return " \\\n".join(lines)


_HYDRA_UNITS = {
    "machine": "machine", "package": "socket", "numa_node": "numa", "core": "core",
    "pu": "hwthread",
}  # fmt: skip


def binding_words(plan: RankPlan) -> tuple[tuple[str, ...], ...]:
    """Return the options of MPICH's mpiexec (Hydra 4.0) on the binding of ranks, each with its
    value. Bound ranks get units of Hydra's where the topology is even, else lists of PUs."""
    if not plan.is_bound:
        return (("-bind-to", "none"),)
    if plan.topology.is_even:
        return (
            ("-bind-to", _HYDRA_UNITS[plan.policy.bind_to]),
            ("-map-by", _HYDRA_UNITS[plan.policy.map_by]),
        )
    lists = ("+".join(map(str, sorted(pus))) for pus in plan.ranks)
    return (("-bind-to", "user:" + ",".join(lists)),)


def mpiexec_command(plan: RankPlan, program: Sequence[str]) -> Command:
    """Return the command of MPICH's mpiexec."""
    count = ("-n", str(len(plan.ranks)))
    return Command((("mpiexec",), count, *binding_words(plan), tuple(program)), plan.environment)


def _mask(pus: Sequence[int]) -> int:
    return sum(1 << pu for pu in set(pus))


def srun_command(plan: RankPlan, program: Sequence[str]) -> Command:
    """Return the command of Slurm's srun, for a job that has the whole cluster node."""
    count, pus = len(plan.ranks), len(plan.topology.pus)
    groups: list[tuple[str, ...]] = [("srun",), ("--nodes=1",), (f"--ntasks={count}",)]
    if count > pus:
        groups.append(("--overcommit",))
    elif pus % count == 0:
        groups.append((f"--cpus-per-task={pus // count}",))
    binding = "none"
    if plan.is_bound:
        binding = "mask_cpu:" + ",".join(hex(_mask(pus)) for pus in plan.ranks)
    groups += [("--distribution=block",), (f"--cpu-bind={binding}",), tuple(program)]
    return Command(tuple(groups), plan.environment)


_OMPI_UNITS = _HYDRA_UNITS | {"machine": "node"}


def ompi_command(plan: RankPlan, program: Sequence[str]) -> Command:
    """Return the command of Open MPI's mpirun 4.1. Raises BadPolicy where ranks are bound, and the
    topology is not even: mpirun's units then don't mean what the policy's do."""
    groups: list[tuple[str, ...]] = [("mpirun",), ("-n", str(len(plan.ranks)))]
    cores = len({pu.core for pu in plan.topology.pus})
    if not plan.is_bound:
        oversubscribes = (("--oversubscribe",),) if len(plan.ranks) > cores else ()
        return Command(
            (*groups, *oversubscribes, ("--bind-to", "none"), tuple(program)), plan.environment
        )
    if not plan.topology.is_even:
        raise BadPolicy(
            "Open MPI's words mean whole nodes with units of one size, and this is a part of a "
            "node, or its units differ in size. Take --with mpiexec (MPICH's) or --with srun, or "
            'bind_to = "none"'
        )
    if plan.policy.bind_to == "pu" or len(plan.ranks) > cores:
        groups.append(("--use-hwthread-cpus",))
    groups += [
        ("--map-by", _OMPI_UNITS[plan.policy.map_by]),
        ("--bind-to", _OMPI_UNITS[plan.policy.bind_to]),
    ]
    return Command((*groups, tuple(program)), plan.environment)


def intel_mpi_command(plan: RankPlan, program: Sequence[str]) -> Command:
    """Return the command of Intel MPI's mpiexec, with a mask of PUs for each rank where ranks are
    bound. Raises BadPolicy where some are bound to the same PUs, since its domains may not
    overlap."""
    domains = {"I_MPI_PIN": "off"}
    if plan.is_bound:
        if len(set(plan.ranks)) < len(plan.ranks):
            raise BadPolicy(
                "Intel MPI gives each rank PUs of its own, and here several ranks share a unit. "
                'Take fewer ranks, bind them to a smaller unit, or write bind_to = "none"'
            )
        masks = ",".join(f"{_mask(pus):x}" for pus in plan.ranks)
        domains = {"I_MPI_PIN": "on", "I_MPI_PIN_DOMAIN": f"[{masks}]"}
    count = ("-n", str(len(plan.ranks)))
    return Command((("mpiexec",), count, tuple(program)), domains | plan.environment)


@dataclass(frozen=True)
class Launcher:
    """A launcher of MPI programs."""

    program: str  # its name
    package: str  # where to get it, as the end of a sentence
    # Returns the command of a plan and a program.
    render: Callable[[RankPlan, Sequence[str]], Command]
    # A part of what its --version prints. It is checked where several launchers share a name and
    # would misunderstand each other's options; empty: it is not checked.
    says: str = ""


LAUNCHERS: Mapping[str, Launcher] = {
    "mpiexec": Launcher("mpiexec", "MPICH's (Debian: apt-get install mpich)", mpiexec_command),
    "openmpi": Launcher(
        "mpirun", "Open MPI's (Debian: apt-get install openmpi-bin)", ompi_command, "Open MPI"
    ),
    "intelmpi": Launcher(
        "mpiexec", "Intel MPI's (part of Intel oneAPI)", intel_mpi_command, "Intel(R) MPI"
    ),
    "srun": Launcher("srun", "Slurm's", srun_command),
}
