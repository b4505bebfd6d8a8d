"""The kernels of solutions as objects, the form in which a student copy has their code.

They are compiled with the preset gnu, once for each x86-64 level in LEVELS
(NUMALAB_KERNEL_ARCHITECTURE), so that a student's kernel and the solution can be of one level.
Debug information, which has paths, lines and names, is stripped."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from numalab.errors import NumalabError, UserError
from numalab.evidence.record import Json
from numalab.harness.build import build_facts, build_targets, configure
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.processes import shell_variables, starting
from numalab.words import StepReport

LEVELS = ("x86-64", "x86-64-v3")


def make_objects(
    installation: Installation, labs: Sequence[Lab], target: Path, progress: StepReport
) -> Json:
    """Write the objects of the solutions of labs at each level, target/NN_name/objects/LEVEL/KIND.o
    (AddLab.cmake has the kinds), and return what compiled them, as build_facts does. Raises
    UserError where ThreadSanitizer or the MPI that a lab calls is missing."""
    facts: Json = {}
    for level in LEVELS:
        with tempfile.TemporaryDirectory(prefix="numalab-edition-") as folder:
            built = Installation(installation.root, "gnu", Path(folder))
            progress(f"configuring for {level}")
            configure(built, f"NUMALAB_KERNEL_ARCHITECTURE={level}")
            facts = build_facts(built)
            _check(labs, facts.get("race_compiler", ""), facts.get("mpi", ""))
            for lab in labs:
                progress(f"compiling the solution of {lab.name} for {level}")
                build_targets(built, [f"{lab.name}-solution-objects"])
                objects = target / lab.name / "objects" / level
                objects.mkdir(parents=True)
                for kind, path in _made(built, lab):
                    _stripped(path, objects / f"{kind}.o")
    return facts


def _check(labs: Sequence[Lab], race_compiler: str, mpi: str) -> None:
    """Raise UserError without a compiler with ThreadSanitizer, or without the MPI that a lab
    calls."""
    if not race_compiler:
        raise UserError(
            "there is no clang with ThreadSanitizer here, without which an edition could not look "
            "for data races. ./numalab setup names its package."
        )
    on_mpi = [lab.name for lab in labs if lab.calls_mpi]
    if on_mpi and not mpi:
        raise UserError(
            f"{' and '.join(on_mpi)}: there is no MPI here to compile the solutions with. "
            "./numalab setup names its package; or leave these labs out with --labs."
        )


def _made(built: Installation, lab: Lab) -> Iterator[tuple[str, Path]]:
    """Yield kind and path of objects of a lab's solution in a build: the kernel's in each language,
    and those for ThreadSanitizer and of the probe where they are there."""
    for language in lab.languages:
        kernel = built.worker(lab.name, language, "solution")
        yield language, kernel.with_name(f"{kernel.name}-kernel.o")
        race = kernel.with_name(f"{kernel.name}-race-kernel.o")
        if race.is_file():
            yield f"{language}-race", race
    probe = built.probe_worker(lab.name)
    probe = probe.with_name(f"{probe.name}.o")
    if probe.is_file():
        yield "probe", probe


def _stripped(source: Path, target: Path) -> None:
    """Copy an object without debug information, symbols that linking does not need, and
    comments."""
    command = [
        "objcopy", "--strip-debug", "--strip-unneeded", "--remove-section=.comment",
        str(source), str(target),
    ]  # fmt: skip
    try:
        done = starting.run(command, shell_variables.observer_environment())
    except OSError as error:
        raise NumalabError("objcopy is missing; run ./numalab setup") from error
    if done.returncode != 0:
        raise NumalabError(f"objcopy could not copy {source}: {done.stderr.strip()}")
