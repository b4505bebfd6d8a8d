"""What Linux on a virtual node makes of files about control groups: real ones, plausible mistakes
among them, on two machines whose PUs are numbered in turn over the NUMA nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from support.cpuset_lab import CRITERIA, FILE, HEAD, RIGHT
from support.mpi_labs import lab_of

from numalab.evidence.format import HandedText
from numalab.evidence.kinds import CPUSETS
from numalab.evidence.record import Evidence
from numalab.grading.handed_files import complaint_of, gather_placements
from numalab.grading.kernel_grading import Grading
from numalab.harness.build import build_targets
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.judge import judge
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Lab
from numalab.machines.gallery import find_machine
from numalab.virtual.place import VirtualPlace, VirtualPlaces
from numalab.virtual.plan import GuestOptions

pytestmark = [pytest.mark.builds, pytest.mark.boots]

# Any lab whose monitor is built: the run starts programs of the monitor's own.
NAME = "01_first_touch"
JOB, OTHERS = RIGHT.split("[others]")
Places = Mapping[str, VirtualPlace]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return lab_of(tmp_path_factory.mktemp("labs"), NAME, HEAD + CRITERIA)


@pytest.fixture(scope="module")
def places(installation: Installation, lab: Lab) -> Iterator[Places]:
    with installation.lock():
        build_targets(installation, [installation.monitor(lab.name).name])
        with VirtualPlaces(installation, GuestOptions()) as booted:
            yield {
                name: booted.get(
                    find_machine(installation, name),
                    [installation.monitor(lab.name)],
                    lambda _: None,
                )
                for name in ("hydra", "nebula")
            }


def seen(installation: Installation, lab: Lab, there: VirtualPlace, text: str) -> Evidence:
    """What is looked at, read from a record that follows the schema."""
    (file,) = lab.files
    assert complaint_of(file, text) is None
    session = Grading(
        installation,
        lab,
        "c",
        "submission",
        installation.lab_folder(lab.name),
        effort_for("default", True),
        there.node,
        lambda step: None,
        place=there,
        machine=there.machine,
    )
    session.record.handed_in.append(HandedText(FILE, None, {}, text))
    gather_placements(session)
    return session.evidence


def verdicts(lab: Lab, evidence: Evidence) -> dict[str, CriterionVerdict]:
    return {one.name: one for one in judge(lab, evidence).criteria}


# Of what wrong submissions show, too, three are tried for every change.
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "fails", "said"),
    [
        pytest.param(RIGHT, "", "Linux has moved the others", id="members"),
        pytest.param(
            f'{JOB}partition = "root"\n[others]\nmems = "all but node:last"\n', "",
            "nothing of the job's", id="a partition", marks=SLOW,
        ),
        pytest.param(
            '[others]\ncpus = "all but node:last"\nmems = "all but node:last"\n'
            'partition = "root"\n[job]\nmems = "node:last"\n', "", "nothing of the job's",
            id="others in a partition", marks=SLOW,
        ),
        pytest.param(
            "", "confined memory_confined others_out", "has no cpus in [job]", id="none",
            marks=SLOW,
        ),
        pytest.param(
            f'[job]\ncpus = "node:last"\n[others]{OTHERS}', "memory_confined",
            "of the pages that it brought along", id="as by taskset", marks=SLOW,
        ),
        pytest.param(
            f'[job]\nmems = "node:last"\n[others]{OTHERS}', "confined",
            "has what the group above it has", id="memory alone", marks=SLOW,
        ),
        pytest.param(JOB, "others_out", "of them are the job's", id="others have all", marks=SLOW),
        pytest.param(
            f'{JOB}partition = "isolated"\n[others]\nmems = "all but node:last"\n', "confined",
            "In an isolated partition Linux moves no thread", id="isolated",
        ),
        pytest.param(
            f'{JOB}partition = "root"\n', "others_out", "A partition takes PUs away", id="no mems",
            marks=SLOW,
        ),
        pytest.param(
            f'{JOB}partition = "root"\n[others]{JOB.split("[job]")[1]}', "others_out",
            "Cpu list in cpuset.cpus not exclusive", id="both the same",
        ),
        pytest.param(
            '[job]\ncpus = "all"\nmems = "node:last"\npartition = "root"\n', "confined others_out",
            "what runs above it would have none", id="the last PU", marks=SLOW,
        ),
        pytest.param(
            '[job]\ncpus = "all but all"\nmems = "node:last"\n', "confined others_out",
            "is an empty set", id="an empty set", marks=SLOW,
        ),
        pytest.param(
            '[job]\ncpus = "500-503"\nmems = "77"\n', "confined memory_confined others_out",
            "Linux refused cpus = 500-503", id="numbers of no machine", marks=SLOW,
        ),
    ],
)  # fmt: skip
def test_what_linux_makes_of_a_file(
    installation: Installation, lab: Lab, places: Places, text: str, fails: str, said: str
) -> None:
    evidence = seen(installation, lab, places["hydra"], text)
    found = verdicts(lab, evidence)
    whys = [one.why for one in found.values()]
    assert {name for name, one in found.items() if one.status == "fail"} == set(fails.split()), whys
    assert any(said in why for why in whys), whys
    (run,) = evidence.runs_of(CPUSETS)
    assert run.outcome.ok and run.job.threads > 1


def test_words_hold_on_a_machine_with_eight_nodes(
    installation: Installation, lab: Lab, places: Places
) -> None:
    found = verdicts(lab, seen(installation, lab, places["nebula"], RIGHT))
    assert {one.status for one in found.values()} == {"pass"}, [one.why for one in found.values()]
    text = f'{JOB}partition = "isolated"\n[others]\nmems = "all but node:last"\n'
    isolated = verdicts(lab, seen(installation, lab, places["nebula"], text))
    assert {name for name, one in isolated.items() if one.status == "fail"} == {"confined"}


def test_numbers_of_one_machine_are_right_there_and_nowhere_else(
    installation: Installation, lab: Lab, places: Places
) -> None:
    """PUs of hydra's last NUMA node in its virtual node, which has fewer cores."""
    text = '[job]\ncpus = "1,3,5,7"\nmems = "1"\n[others]\ncpus = "0,2,4,6"\nmems = "0"\n'
    on_hydra = verdicts(lab, seen(installation, lab, places["hydra"], text))
    assert {one.status for one in on_hydra.values()} == {"pass"}, [c.why for c in on_hydra.values()]
    on_nebula = verdicts(lab, seen(installation, lab, places["nebula"], text))
    assert {one.status for one in on_nebula.values()} == {"fail"}
