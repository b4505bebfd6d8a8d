"""The probe: what each kernel does is verified by the program itself, and what would fake a
measurement is not there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from numalab.errors import NumalabError
from numalab.explore.explore import read_build, run_program
from numalab.harness.build import build_explorations
from numalab.harness.monitor import describe_node
from numalab.installation import Installation

MIB = 2**20

pytestmark = pytest.mark.builds


def probed(installation: Installation, *arguments: str, **environment: str) -> dict[str, Any]:
    build_explorations(installation, [installation.probe.name])
    found: dict[str, Any] = json.loads(
        run_program(installation.probe, arguments, {**os.environ, **environment})
    )
    return found


def changed(installation: Installation, file: str, old: str, new: str, folder: Path) -> Path:
    """The probe with a mistake, as it is built."""
    build_explorations(installation, [installation.probe.name])
    source = installation.root / "common" / "probe"
    for name in (path.name for path in source.glob("*.[ch]")):
        text = (source / name).read_text()
        if name == file:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (folder / name).write_text(text)
    common = source.parent
    program = folder / "probe"
    flags = shlex.split(read_build(installation)["probe_flags"])
    subprocess.run(
        ["gcc", "-std=c11", *flags, "-fopenmp", f"-I{common / 'include'}", f"-I{common}",
         *sorted(folder.glob("*.c")), common / "numbers.c", "-lm", "-o", program],
        check=True,
    )  # fmt: skip
    return program


def test_a_table_is_measured_on_the_pages_that_were_asked_for(installation: Installation) -> None:
    pages_in_all = 8 * MIB // 4096
    for pages, steps in (("small", 5000), ("huge", 2 * pages_in_all)):
        found = probed(
            installation,
            "update,chase",
            f"pages={pages}",
            f"bytes={8 * MIB}",
            f"steps={steps}",
            "repetitions=2",
            "seed=3",
        )
        assert (found["pages"], found["bytes"], found["seed"]) == (pages, 8 * MIB, 3)
        update, chase = found["times"]
        assert (update["kernel"], update["steps"]) == ("update", steps)
        # Half a cycle more than whole ones, so that it ends elsewhere than it starts.
        assert chase["kernel"] == "chase"
        assert chase["steps"] == (
            5000 if pages == "small" else 2 * pages_in_all + pages_in_all // 2
        )
        assert all(len(times["elapsed_s"]) == 2 for times in found["times"])
        if pages == "small":
            assert found["bytes_on_huge_pages"] == 0
            assert found["page_faults"] >= pages_in_all


def test_streams_count_their_bytes(installation: Installation) -> None:
    found = probed(
        installation,
        "copy,triad,load,store",
        f"bytes={2 * MIB}",
        "repetitions=3",
        "first_touch=one",
        OMP_NUM_THREADS="2",
    )
    assert found["threads"] == len(found["thread_pus"]) == 2
    assert found["first_touch"] == "one"
    assert found["local_share"] is None or 0 <= found["local_share"] <= 1
    told = {
        times["kernel"]: (times["bytes_moved"] // MIB, times["bytes_allocated"] // MIB)
        for times in found["times"]
    }
    assert told == {"copy": (6, 2), "triad": (8, 2), "load": (2, 0), "store": (4, 2)}


def test_threads_and_memory_are_where_they_were_asked_for(installation: Installation) -> None:
    node = describe_node(installation)
    pus = [entry["pu"] for entry in node["pu_list"]][::-1]
    memory_node = node["numa_node_list"][0]["numa_node"]
    asked = f"pus={','.join(map(str, pus))}"
    of_streams = probed(installation, "load", f"bytes={MIB}", asked, f"memory_node={memory_node}")
    of_table = probed(
        installation,
        "chase",
        "lines=all",
        f"bytes={MIB}",
        f"pus={pus[0]}",
        f"memory_node={memory_node}",
    )
    assert (of_streams["thread_pus"], of_table["thread_pus"]) == (pus, pus[:1])
    for found in (of_streams, of_table):
        assert found["memory_node"] == memory_node
        assert found["memory_node_share"] in (None, 1.0)
    assert probed(installation, "load", f"bytes={MIB}")["memory_node"] is None


def test_a_chase_through_all_lines_has_a_link_in_each(installation: Installation) -> None:
    """A step that would make whole cycles makes half a cycle more, so the number of links shows."""
    found = probed(installation, "chase", "lines=all", "bytes=65536", "steps=2048", "repetitions=1")
    assert found["lines"] == "all"
    assert found["times"][0]["steps"] == 2048 + 1024 // 2


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("chase", "bytes=65536", "pus=0,1"), 2, "usage: "),
        (("load", "bytes=65536", "pus=0,"), 2, "usage: "),
        (("load", "bytes=65536", "lines=all"), 2, "usage: "),
        (("load", "bytes=65536", "pus=8191"), 4, "a PU: Invalid argument"),
        (("chase", "bytes=65536", "pus=8191"), 4, "the PU: Invalid argument"),
        (("chase", "bytes=65536", "memory_node=1023"), 4, "the table: Invalid argument"),
    ],
)
def test_places_that_can_t_be_had_are_refused(
    installation: Installation, arguments: tuple[str, ...], code: int, says: str
) -> None:
    build_explorations(installation, [installation.probe.name])
    done = subprocess.run([installation.probe, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


ALL_MIXES = 19


def test_mixes_take_turns_on_a_pool(installation: Installation) -> None:
    found = probed(
        installation,
        "mixes",
        "loops=2+1+0,0+2+0,0+0+2",
        f"bytes={MIB}",
        "arrays=9",
        "repetitions=4",
        OMP_NUM_THREADS="2",
    )
    assert (found["array_bytes"], found["arrays"], found["threads"]) == (MIB, 9, 2)
    told = [(loop["loads"], loop["stores"], loop["updates"]) for loop in found["loops"]]
    assert told == [(2, 1, 0), (0, 2, 0), (0, 0, 2)]
    assert all(len(loop["elapsed_s"]) == 4 for loop in found["loops"])
    assert all(elapsed_s > 0 for loop in found["loops"] for elapsed_s in loop["elapsed_s"])


def test_every_mix_is_right(installation: Installation) -> None:
    """All of them on one pool, each on what the others have left there."""
    build_explorations(installation, [installation.probe.name])
    usage = subprocess.run(
        [installation.probe, "mixes"], capture_output=True, text=True, check=False
    )
    assert usage.returncode == 2
    mixes = usage.stderr.split("Mixes:")[1].split()
    assert len(mixes) == ALL_MIXES
    for some in (mixes[:10], mixes[10:]):
        found = probed(
            installation, "mixes", f"loops={','.join(some)}", "bytes=8200", "repetitions=40"
        )
        assert len(found["loops"]) == len(some)


@pytest.mark.parametrize(
    "words",
    ["loops=9+0+0 bytes=4096", "loops=1+0 bytes=4096", "loops=1+0+0, bytes=4096", "bytes=4096",
     "loops=1+0+0", "loops=1+0+0 bytes=4096 arrays=7", "loops=1+0+0 bytes=4096 pages=huge"],
)  # fmt: skip
def test_mixes_that_cant_be_meant_are_refused(installation: Installation, words: str) -> None:
    build_explorations(installation, [installation.probe.name])
    done = subprocess.run(
        [installation.probe, "mixes", *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: probe mixes")


def test_no_loop_became_a_call_that_passes_by_the_caches(installation: Installation) -> None:
    """Copy and store, which compilers like to turn into memcpy and memset."""
    build_explorations(installation, [installation.probe.name])
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", installation.probe],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loops = [
        part for part in re.split(r"\n(?=[0-9a-f]+ <)", listing)
        if re.match(r"[0-9a-f]+ <(copy|store|triad|load|mix_\d_\d_\d)[.\w]*>:", part)
    ]  # fmt: skip
    assert len(loops) >= 4 + ALL_MIXES
    for part in loops:
        assert not re.search(r"call.*<mem(cpy|set|move)", part), part[:80]
        assert "movnt" not in part, part[:80]


@pytest.mark.parametrize(
    ("file", "old", "new", "arguments", "says"),
    [
        ("tables.c", "elements[random >> shift] += 1", "elements[random >> shift] = 1",
         ("update", "bytes=65536"), "the table is wrong: its sum is"),
        ("tables.c", "for (; steps > 0; steps--) link", "for (; steps > 1; steps--) link",
         ("chase", "bytes=65536"), "the chase is wrong: it left its cycle through 16 links"),
        ("tables.c", "order[(i + 1) % links]", "order[i ^ 1]",
         ("chase", "bytes=65536"), "the chase is wrong"),
        ("streams.c", "x[i] = y[i] + s * z[i]", "x[i] = y[i] + z[i]",
         ("triad", "bytes=65536"), "triad is wrong: element 0 is 3, not"),
        ("streams.c", "y + part.end)", "y + part.end - !part.first)",
         ("load", "bytes=65536"), "load is wrong: its sum is 8191, not 8192"),
        ("mixes.c", "if (stores > 1) w1[i] = value;", "",
         ("mixes", "loops=1+2+0", "bytes=65536"), "the loops are wrong: "),
        ("mixes.c", "u0[i] = 0.5 * (u0[i] + value);", "u0[i] = 0.5 * value;",
         ("mixes", "loops=0+0+1", "bytes=65536"), "the loops are wrong: "),
        ("mixes.c", "if (loads > 3) value += r3[i];", "",
         ("mixes", "loops=4+0+0", "bytes=65536"), "a loop is wrong: its sum is"),
    ],
    ids=["lost_updates", "a_step_short", "pairs_for_a_cycle", "no_scalar", "an_element_short",
         "no_second_store", "no_read_before_it", "no_fourth_array"],
)  # fmt: skip
def test_a_kernel_that_does_less_is_found(
    installation: Installation,
    tmp_path: Path,
    file: str,
    old: str,
    new: str,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    program = changed(installation, file, old, new, tmp_path)
    with pytest.raises(NumalabError, match=re.escape(says)):
        run_program(program, arguments, os.environ)


def test_the_probe_passes_as_it_is(installation: Installation, tmp_path: Path) -> None:
    """The control of the test before: it is not its compiling that fails."""
    program = changed(
        installation, "tables.c", "#include <errno.h>", "#include <errno.h>\n", tmp_path
    )
    for kernels in ("update,chase", "copy,triad,load,store"):
        found = json.loads(run_program(program, (kernels, "bytes=65536"), os.environ))
        assert found["kernels"] == kernels
