"""The evidence format: one class for each JSON object of a record, one field for each key.

A session's record is a GradingRecord: the node, the build, the environment, a list of runs, and
more. The graded kernel has the role "submission", whatever it is, and numalab's own the roles
"solution", "control" (compared with the solution, mostly a second process of it) and "handout";
"probe" is numalab's loop with the same reads and writes, the reference loop. Programs of numalab's
that run for what was handed in have the role "submission", too. Names carry units; indices count
from 0. A field that may be absent has a default, which is not written (but in OtherPlaces): an
earlier record lacks it, or there was nothing to record.

The monitor (common/monitor) writes most runs, the rest is the grader's. What does not fit these
classes is refused as it is read. common/schema/evidence.schema.json says the same to other
programs; ./numalab test --rewrite-golden writes it from here.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType, field

from numalab.evidence.node_format import NodeDescription, Object, Positive, Value
from numalab.evidence.run_formats import AnyRunRecord

SCHEMA_VERSION: Final = 2


class ShownMachine(Object, kw_only=True):
    name: str
    source: str
    accelerator: Literal["tcg", "kvm"]
    guest_kernel: str
    cores_per_numa_node: Positive
    cores_per_numa_node_of_machine: Positive
    numa_node_memory_bytes: Positive
    # whether the machine's own processors announce their cores by CPUID, as the virtual ones do;
    # absent: yes
    announces_cores: bool = True
    # the machine's, as `uname -m` says; its virtual node is x86_64; absent in earlier records
    architecture: str | None = None


class EarlierTimes(Value, frozen=True):
    """Rounds that an earlier session of the same program timed."""

    started_at: str  # when that session began, ISO 8601 with zone
    generations: Positive


class HandedText(Value, frozen=True):
    """A file beside the kernel, as it was handed in."""

    file: str
    complaint: str | None  # why it can't be used, or that it is missing
    variables: dict[str, str]  # of a placement file
    text: str = ""  # of any other


class OtherPlaces(Value, frozen=True, omit_defaults=False):
    """The virtual machines that a grading was to use, too."""

    named: tuple[str, ...] = ()  # machines that were asked for; none: the lab's own, as needed
    not_booted: dict[str, str] = field(default_factory=dict)  # by machine why there is no result
    # "here" or a machine: what came after it was not waited for
    interrupted_at: str | None = None
    ended: dict[str, str] = field(default_factory=dict)  # by machine that the kernel ended it twice


class SeededNode(Value, frozen=True):
    """The machine made from a seed that a file answers questions about, as it was booted."""

    seed: Positive
    node: NodeDescription | None  # as describe_node saw it; None: see error
    error: str | None

    @property
    def description(self) -> dict[str, Any]:
        """The node as JSON, empty where there is none."""
        return {} if self.node is None else msgspec.to_builtins(self.node)


class Build(Value, frozen=True):
    """What came of the kernel's build."""

    status: Literal["ok", "missing", "does_not_compile", "wrong_interface", "does_not_link"]
    message: str  # one or more sentences for the student; empty where all is well
    output: str  # the compiler's or linker's, shortened


class BuildFacts(Object, kw_only=True):
    kernel: Build
    preset: str | None = None
    c_compiler: str | None = None
    fortran_compiler: str | None = None
    kernel_flags: str | None = None
    race_compiler: str | None = None
    mpi: str | None = None  # empty: none
    openmp_runtime: str | None = None
    openmp_library: str | None = None


class GradingRecord(Object, kw_only=True):
    """What one grading session observed."""

    schema: Literal[2]
    kit_version: str
    lab: str
    language: Literal["c", "fortran"]
    variant: Literal["submission", "solution", "handout"]
    size: Literal["quick", "default", "published"]
    quick: bool
    started_at: str
    # null for the node at hand; else the machine that a virtual node shows
    machine: ShownMachine | None
    fingerprint: str | None = None  # of what the times are of; absent: it did not come to them
    # how many of the generations are from earlier sessions of the same, oldest first; absent:
    # none
    earlier_times: tuple[EarlierTimes, ...] = ()
    handed_in: list[HandedText]  # files beside the kernel, as they were handed in
    # which virtual nodes were to be asked, too; null: none; earlier records do not tell
    elsewhere: OtherPlaces | UnsetType | None = UNSET
    # the machine made from a seed that a file answers questions about, as it was booted; absent:
    # there is none, or no usable answer
    seeded_node: SeededNode | None = None
    # whether all that was handed in is the starting code, whatever comments and blanks it has;
    # earlier records do not tell
    starting_code: bool | UnsetType = UNSET
    # the kernel and files beside it that are still the handout's; earlier records do not tell
    unchanged_files: tuple[str, ...] = ()
    # what workers ran in, and the kernel's compiler where they ran on this node itself; earlier
    # records do not tell
    sandbox: Literal["bubblewrap", "virtual_machine", "none"] | None = None
    timing_refused: str | None
    # what of the kit kept times from being taken; of an earlier record also that it was
    # interrupted
    timing_error: str | None
    # before all was seen; earlier records say so in timing_error, or not at all
    interrupted: bool = False
    # how the monitor ended without a record, again and again, where it did not with numalab's own
    # kernel; absent: it did not
    monitor_lost: str | None = None
    # as race_error, where that is the kernel's fault: only it can't be built for it
    race_refused: str | None = None
    race_error: str | None  # why data races can't be looked for
    node: NodeDescription
    environment: dict[str, str]  # OpenMP's part of the workers' environment
    build: BuildFacts
    runs: list[AnyRunRecord]
