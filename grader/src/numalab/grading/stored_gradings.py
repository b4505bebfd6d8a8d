"""Stored gradings, and how they are judged again from their records, without building anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UnsetType

from numalab.errors import NumalabError, UserError
from numalab.evidence import read_record
from numalab.evidence.format import GradingRecord, OtherPlaces, ShownMachine
from numalab.evidence.record import Evidence, Json
from numalab.files import MIB, NotPlain, read_plain_text
from numalab.grading.explanation import read_explanation
from numalab.grading.graded import GradedKernel
from numalab.grading.modelled import model_ungradable
from numalab.installation import Installation
from numalab.judging.places import LOCAL, verdict_over
from numalab.judging.timing_account import timing_accounts
from numalab.labs.declaration import Lab
from numalab.machines.announced import other_processors
from numalab.machines.gallery import published_latencies
from numalab.machines.machine import NATIVE
from numalab.machines.seeded import is_seeded
from numalab.untrusted import toml
from numalab.untrusted.visible import may_hide, shown, visible_json
from numalab.words import count

FILE = "evidence.json"
VM_FOLDER_PREFIX = "on_"  # of the folder with a virtual machine's record, before its name
# What reading and judging raise for a record of another version, or one that was changed by hand so
# that it contradicts what records of monitors always have.
_BAD = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, AssertionError,
)  # fmt: skip
_MOST_BYTES = 256 * MIB  # a careful grading of the largest lab has 3 MB


@dataclass(frozen=True)
class StoredGrading:
    """The stored grading of one kernel."""

    path: Path  # its folder
    lab: Lab  # the lab, as it is declared now
    record: GradingRecord  # of the machine that graded it, without virtual machines
    local: Evidence  # evidence of that machine
    vms: Mapping[str, Evidence]  # evidence of virtual machines, by name
    machines: Mapping[str, ShownMachine]  # what each of them stands for, by name
    other_places: OtherPlaces | None  # how virtual machines were used; None: none was to be

    @property
    def is_interrupted(self) -> bool:
        is_stopped = self.other_places is not None and self.other_places.interrupted_at is not None
        return is_stopped or self.local.interrupted

    def machine_notes(self) -> list[tuple[str, str]]:
        """Return name and note for each virtual machine: its cores and memory, and how they differ
        from the real one's."""
        return [(name, _note(machine)) for name, machine in self.machines.items()]


def _note(machine: ShownMachine) -> str:
    cores, real = machine.cores_per_numa_node, machine.cores_per_numa_node_of_machine
    some = f"{cores} of {real}" if cores != real else f"{cores}"
    least = " or more" if is_seeded(machine.name) else ""
    return (
        f"{machine.name}, as a virtual machine: {some} "
        f"{'core' if real == 1 else 'cores'} per NUMA node, "
        f"{machine.numa_node_memory_bytes // 2**20} MiB{least} of memory per NUMA node"
        f"{other_processors(machine.architecture or NATIVE)}"
    )


def read_grading(path: Path, labs: Mapping[str, Lab], *, is_foreign: bool = False) -> StoredGrading:
    """Read a stored grading. Raises UserError where there is no record, or this version can't judge
    it, and OSError, such as where no process can be started to check a text of a foreign one.

    Args:
        path: an evidence.json, or the folder that holds one and on_MACHINE/ for each virtual
            machine.
        labs: by name.
        is_foreign: the records may have been written by others, so their texts are checked.
    """
    file = path / FILE if path.is_dir() else path
    record = _read(file, is_foreign)
    if record.machine is not None:
        raise UserError(
            f"{file} is what a virtual node has shown ({record.machine.name}). Name the folder "
            f"above it, {file.parent.parent}, which has what was seen on the node itself."
        )
    lab = labs.get(record.lab)
    if lab is None:
        raise UserError(
            f"{file} is of the lab {record.lab!r}, which this kit does not have; it has "
            f"{', '.join(labs)}"
        )
    vms: dict[str, Evidence] = {}
    machines: dict[str, ShownMachine] = {}
    for other in sorted(file.parent.glob(f"{VM_FOLDER_PREFIX}*/{FILE}")):
        shown = _read(other, is_foreign)
        if shown.machine is None or (shown.lab, shown.language) != (record.lab, record.language):
            raise UserError(
                f"{other} is not of the grading that {file} is of. Move it away, and judge again."
            )
        name = shown.machine.name
        vms[name], machines[name] = _parsed(shown, other), shown.machine
    local = _parsed(record, file)
    other_places = record.elsewhere
    if isinstance(other_places, UnsetType):  # of an earlier version: machines were the lab's own
        other_places = OtherPlaces() if vms else None
    return StoredGrading(file.parent, lab, record, local, vms, machines, other_places)


def _read(file: Path, is_foreign: bool) -> GradingRecord:
    try:
        text = read_plain_text(file, _MOST_BYTES, follow_links=True)
        data: Any = json.loads(text)
    except (FileNotFoundError, NotPlain) as error:
        why = error.strerror if isinstance(error, OSError) else f"it {error}"
        raise UserError(
            f"there is no record {file} that can be read ({why}). Name the {FILE} of a grading, "
            "or the folder that holds it."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is damaged: it is no JSON ({error})") from error
    if not isinstance(data, dict):
        raise UserError(f"{file} is no record of evidence")
    try:
        record = read_record.record_of(data)
        if may_hide(text):
            record = read_record.record_of(_cleaned(data))
    except NumalabError as error:
        raise UserError(f"{file}: {error}") from error
    except (*_BAD, RecursionError) as error:
        raise _damaged(file, error) from error
    if is_foreign:
        _check_texts(record, file)
    return record


def _cleaned(data: Json) -> Json:
    """Return a record whose values are safe to show, but for texts of handed-in files, since they
    are parsed again."""
    cleaned: Json = visible_json(data)
    for shown_text, handed in zip(cleaned["handed_in"], data["handed_in"], strict=True):
        if "text" in handed:
            shown_text["text"] = handed["text"]
    return cleaned


def _check_texts(record: GradingRecord, file: Path) -> None:
    """Raise UserError where the text of a handed-in file in a foreign record can't be parsed within
    limits."""
    for handed in record.handed_in:
        why = toml.why_not_readable(handed.text)
        if why:
            raise UserError(f"{file} is damaged: {shown(handed.file)} in it {why}")


def _parsed(record: GradingRecord, file: Path) -> Evidence:
    try:
        return read_record.evidence_of(record)
    except _BAD as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> UserError:
    return UserError(
        f"{file} is damaged, or of another kit ({type(error).__name__}: {error}); what it is of "
        "has to be graded again"
    )


def judge_again(installation: Installation, stored: StoredGrading, again: str = "") -> GradedKernel:
    """Judge a stored grading by the present rules. again: what to do about undecided times, for the
    report; empty: nothing. Raises UserError where the rules can't be applied to it."""
    lab, local = stored.lab, stored.local
    try:
        verdict = verdict_over(lab, local, stored.vms, stored.other_places)
        accounts = timing_accounts(lab, verdict, local)
    except NumalabError as error:  # parts of it that do not belong together
        raise UserError(f"{stored.path / FILE}: {error}") from error
    except _BAD as error:
        raise _damaged(stored.path / FILE, error) from error
    return GradedKernel(
        lab,
        verdict,
        [(LOCAL, local), *stored.vms.items()],
        accounts,
        unchanged=verdict.unchanged,
        again=again,
        published=published_latencies(installation) if lab.mpi else (),
        interrupted=stored.is_interrupted,
        explanation=read_explanation(stored.path),
        modelled=model_ungradable(
            installation, lab, verdict, [(LOCAL, local), *stored.vms.items()]
        ),
    )


def same_node(gradings: list[StoredGrading]) -> Json:
    """Return the description of the machine that made the gradings, one or more. Raises UserError
    where machines of several names made them."""
    names = {stored.record.node.name for stored in gradings}
    if len(names) > 1:
        raise UserError(
            f"the records are of {count(len(names), 'node')}, {', '.join(sorted(names))}, and a "
            "file tells of one; write one for each"
        )
    return gradings[0].local.node
