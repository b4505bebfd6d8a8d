"""The bench that compares the probe with likwid-bench: what it reads, and when it is over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from numalab.errors import NumalabError, UserError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import against_likwid
from against_likwid import LOOPS, Size, agreement, likwid_command, probe_rate_gb_s, read_likwid
from series import Appender

# Shortened; of likwid-bench 5.2.2.
SAID = """\
Test: stream_avx_fma
Group: 0 Thread 0 Global Thread 0 running on hwthread 0 - Vector length 4000000 Offset 0
Group: 0 Thread 1 Global Thread 1 running on hwthread 2 - Vector length 4000000 Offset 4000000
Time:\t\t\t9.000000e-02 sec
Iterations:\t\t20
Iterations per thread:\t10
Size (Byte):\t\t192000000
Size per thread:\t96000000
Data volume (Byte):\t1920000000
MByte/s:\t\t21333.33
"""


def test_likwids_words_are_read() -> None:
    told = read_likwid(SAID, 10)
    assert told.rate_gb_s == pytest.approx(1.92 / 0.09)
    assert (told.pus, told.size_bytes) == ((0, 2), 192_000_000)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Iterations per thread:\t10", "Iterations per thread:\t11"), ("running on", "ran on"),
     ("volume (Byte):\t19", "volume (Byte):\t18"), ("Time:", "Zeit:")],
)  # fmt: skip
def test_another_report_is_none(old: str, new: str) -> None:
    assert old in SAID
    with pytest.raises(NumalabError):
        read_likwid(SAID.replace(old, new), 10)


def test_bytes_are_counted_alike() -> None:
    """Without write-allocate, over all passes: triad's are three arrays."""
    times = {"bytes_moved": 4e9, "bytes_allocated": 1e9, "elapsed_s": [0.1, 0.2]}
    assert probe_rate_gb_s({"times": [times]}) == pytest.approx(3 * 2 / 0.3)
    size = Size(64 * 2**20, 60, "M0", 2, 1)
    assert f"M0:{3 * 64 * 2**20}B:2:1:1" in likwid_command(LOOPS["triad"], size)


def test_when_it_is_over() -> None:
    assert agreement([1.0] * 19).verdict == "open"
    assert agreement([1.0] * 20).verdict == "agrees"
    assert agreement([1.2] * 20).verdict == "differs"
    assert agreement([0.8] * 20).verdict == "differs"
    wide = [0.8, 1.2] * 99
    assert not agreement(wide).is_over
    assert agreement([*wide, 1.0, 1.0]).is_over
    assert agreement([*wide, 1.0, 1.0]).verdict == "open"


def test_it_goes_on_with_pairs_of_its_size_only(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    size = Size(64, 10, "M0", 2, 1)
    assert against_likwid.recorded(file, size)["load"] == []
    out = Appender(file)
    out.append({"loop": "load", "array_bytes": 64, "passes": 10, "threads": 2, "probe_gb_s": 3.0,
                "likwid_gb_s": 2.0})  # fmt: skip
    out.close()
    assert against_likwid.recorded(file, size)["load"] == [(3.0, 2.0)]
    with pytest.raises(UserError, match="another size"):
        against_likwid.recorded(file, Size(128, 10, "M0", 2, 1))
