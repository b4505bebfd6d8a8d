"""Which criteria can't be judged on a machine that refuses a system call or a file.

Pure functions over a machine's record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numalab.evidence.record import Json
from numalab.evidence.refused import refused
from numalab.judging.rules import rule_of
from numalab.labs.declaration import Criterion, Lab


@dataclass(frozen=True)
class Loss:
    """A call that a machine may refuse, and the criteria that are lost then.

    Attributes:
        probe: the call's name in the machine's record.
        serves: what numalab uses it for, or what is lost with it, as a clause.
        loses: tells whether a criterion of a lab can't be judged without it.
    """

    probe: str
    serves: str
    loses: Callable[[Lab, Criterion], bool]


def _all_runs(lab: Lab, criterion: Criterion) -> bool:
    return True


def _is_bound(lab: Lab, criterion: Criterion) -> bool:
    """Tell whether a criterion needs threads or ranks that are bound to their cores."""
    return (
        "OMP_PROC_BIND" in lab.environment
        or _needs("sched_setaffinity")(lab, criterion)
        or criterion.kind == "timing"
    )


def _needs(probe: str) -> Callable[[Lab, Criterion], bool]:
    return lambda lab, criterion: probe in rule_of(criterion).needs


# Calls without which criteria can't be judged. Calls that have a replacement are in doctor's report
# only.
LOSSES = (
    Loss(
        "worker_memory",
        "by which the kit writes a kernel's inputs and reads its results (process_vm_readv, or "
        "/proc/PID/mem)",
        _all_runs,
    ),
    Loss("pidfd_open", "by which the kit watches the processes that it starts", _all_runs),
    Loss("sched_setaffinity", "by which threads and ranks are kept on their cores", _is_bound),
    Loss("schedstat", "which tells the CPU time of each thread", _needs("schedstat")),
    Loss("move_pages", "so nobody can see where pages live", _needs("move_pages")),
    Loss("get_mempolicy", "and with it what places memory", _needs("get_mempolicy")),
)
_NAMES = {"worker_memory": "access to another process's memory"}


def loss(lab: Lab, criterion: Criterion, node: Json) -> str | None:
    """Return why a criterion that needs a run can't be judged on a machine, as sentences on the
    first call that it refuses; None where it refuses nothing that the criterion needs. node: the
    machine's record."""
    errors = refused(node)
    for lost in LOSSES:
        error = errors.get(lost.probe)
        if error is not None and lost.loses(lab, criterion):
            name = _NAMES.get(lost.probe, lost.probe)
            return (
                f"This system refuses {name} ({error}), {lost.serves}. In a container that is most "
                "often its seccomp profile; ./numalab doctor says what to do."
            )
    return None
