"""What a file says of control groups, and what it means on a machine."""

from __future__ import annotations

import pytest

from numalab.installation import Installation
from numalab.labs.goals import JOB_NODES, nodes_of_job, pus_of_nodes
from numalab.labs.group_words import BadGroups, NumberSet, read_group_file, settings
from numalab.machines.gallery import find_machine
from numalab.machines.topology import Topology, topology_of_machine
from numalab.pu_lists import kernel_list


def topology(installation: Installation, name: str) -> Topology:
    return topology_of_machine(find_machine(installation, name))


def written(text: str, machine: Topology) -> dict[tuple[str, str], str]:
    return {(group, key): value for group, key, value in settings(read_group_file(text), machine)}


def test_words_hold_on_each_machine(installation: Installation) -> None:
    text = """
    [job]
    cpus = "node:last"
    mems = "node:last"
    partition = "root"
    [others]
    cpus = "all but node:last"
    mems = "all but node:last"
    """
    for name in ("hydra", "nebula"):
        machine = topology(installation, name)
        (node,) = nodes_of_job("job_on_last_node", machine)
        got = written(text, machine)
        pus = pus_of_nodes([node], machine)
        rest = frozenset(machine.numa_node) - pus
        assert got == {
            ("job", "cpus"): kernel_list(pus),
            ("job", "mems"): str(node),
            ("job", "partition"): "root",
            ("others", "cpus"): kernel_list(rest),
            ("others", "mems"): kernel_list(range(node)),
        }
        assert pus and rest


@pytest.mark.parametrize(
    ("words", "cpus", "mems"),
    [
        ("0-3,8", "0-3,8", "0-3,8"),
        ("5, 4 ,3", "3-5", "3-5"),
        ("node:first", "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30", "0"),
        ("node : 1", "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31", "1"),
        ("all", "0-31", "0-1"),
        ("all but 0-30", "31", ""),
        ("node:0,node:1 but node:1,0", "2,4,6,8,10,12,14,16,18,20,22,24,26,28,30", ""),
        ("all but all", "", ""),
        ("0-999", "0-999", "0-999"),  # Linux is to refuse it
    ],
)
def test_what_words_mean_on_hydra(
    installation: Installation, words: str, cpus: str, mems: str
) -> None:
    hydra = topology(installation, "hydra")
    got = written(f'[job]\ncpus = "{words}"\nmems = "{words}"\n', hydra)
    assert got == {("job", "cpus"): cpus, ("job", "mems"): mems}


def test_settings_come_in_order(installation: Installation) -> None:
    text = """
    [others]
    partition = "isolated"
    mems = "0"
    [job]
    partition = "member"
    cpus = "1,0"
    """
    assert settings(read_group_file(text), topology(installation, "hydra")) == [
        ("job", "cpus", "0-1"), ("job", "partition", "member"), ("others", "mems", "0"),
        ("others", "partition", "isolated"),
    ]  # fmt: skip


def test_a_set_has_a_thousand_characters_at_most() -> None:
    longest = "0," * 499 + "10"
    assert len(longest) == 1000
    found = read_group_file(f'[job]\ncpus = " {longest} "\n')["job"]["cpus"]
    assert isinstance(found, NumberSet) and len(found.terms) == 500
    with pytest.raises(BadGroups, match="more than 1,000 characters"):
        read_group_file(f'[job]\ncpus = "{longest}0"\n')


def test_a_group_of_which_nothing_is_said_is_empty() -> None:
    found = read_group_file('[job]\nmems = "0"\n')
    assert list(found["job"]) == ["mems"] and not found["others"]


@pytest.mark.parametrize(
    ("goal", "nodes"),
    [
        ("job_on_last_node", [6]),
        ("job_on_first_node", [1]),
        ("job_on_second_node", [4]),
        ("job_on_all_but_first_node", [4, 6]),
        ("job_on_all_but_last_node", [1, 4]),
    ],
)
def test_nodes_of_goals(goal: str, nodes: list[int]) -> None:
    assert JOB_NODES[goal]([1, 4, 6]) == nodes


def test_a_machine_of_one_node_lacks_all_others(installation: Installation) -> None:
    groups = read_group_file('[job]\ncpus = "node:1"\n')
    with pytest.raises(BadGroups, match="which has node 0 only"):
        settings(groups, topology(installation, "laptop"))


def test_a_node_that_the_machine_lacks_is_told(installation: Installation) -> None:
    groups = read_group_file('[job]\nmems = "node:7"\n')
    assert settings(groups, topology(installation, "nebula")) == [("job", "mems", "7")]
    with pytest.raises(BadGroups, match=r"node:7 is no NUMA node .* nodes 0 to 1"):
        settings(groups, topology(installation, "hydra"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[jobs]\ncpus = "0"\n', "unknown key 'jobs'.* Did you mean 'job'"),
        ('[job]\ncpu = "0"\n', "unknown key 'cpu' in .job.*Did you mean 'cpus'"),
        ("[job]\ncpus = 3\n", "'cpus' is 3"),
        ('[job]\ncpus = ""\n', "more than nothing"),
        ('[job]\ncpus = "node:west"\n', "'node:west' is no set; write"),
        ('[job]\ncpus = "0,,1"\n', "something is missing"),
        ('[job]\ncpus = "all but"\n', "'all but'; something is missing"),
        ('[job]\ncpus = "but 0"\n', "something is missing"),
        ('[job]\ncpus = "3-1"\n', "goes upwards"),
        ('[job]\ncpus = "0-99999999"\n', "at most"),
        (f'[job]\ncpus = "{"0," * 600}0"\n', "more than 1,000 characters"),
        ('[job]\npartition = "exclusive"\n', "partition.*member.*root.*isolated"),
        ("job = 3\n", "job"),
        ("[job\n", "line 1"),
    ],
)
def test_what_can_not_be_meant(text: str, said: str) -> None:
    with pytest.raises(BadGroups, match=f"(?s){said}"):
        read_group_file(text)


def test_a_file_that_says_nothing_sets_nothing(installation: Installation) -> None:
    assert read_group_file("") == {"job": {}, "others": {}}
    assert settings(read_group_file(""), topology(installation, "hydra")) == []


def test_goals_name_nodes_with_pus(installation: Installation) -> None:
    aurora = topology(installation, "aurora")  # whose last NUMA nodes are memory alone
    (last,) = nodes_of_job("job_on_last_node", aurora)
    assert nodes_of_job("job_on_first_node", aurora) == {0}
    assert last > 0
    assert pus_of_nodes([last], aurora)
    assert written('[job]\nmems = "node:last"\n', aurora) == {("job", "mems"): str(last)}


def test_goals_leave_something_to_others_and_are_apart_on_a_large_machine(
    installation: Installation,
) -> None:
    for name in ("hydra", "nebula"):
        machine = topology(installation, name)
        for goal in JOB_NODES:
            own = pus_of_nodes(nodes_of_job(goal, machine), machine)
            assert own and own < frozenset(machine.numa_node)
    assert len({nodes_of_job(goal, topology(installation, "nebula")) for goal in JOB_NODES}) == len(
        JOB_NODES
    )
