"""The probe beside likwid-bench: the same loops, arrays, threads and PUs, in processes that take
turns, until it is known how many times likwid's bytes per second the probe's are.

A rate is that of all passes of a process together, since likwid-bench tells no other; the probe's
one for warming up stands beside likwid's writing of the arrays. Bytes are those that the loop reads
and writes, as likwid counts them. A benchmark, run by hand; README.md beside it says how, and what
could make the two alike or unlike.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from progress import Progress
from series import Appender, lines_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import Json
from numalab.explore.explore import parse_record, run_program
from numalab.explore.intervals import MedianInterval, median_interval
from numalab.harness.build import build_explorations
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.processes import shell_variables

MIB = 2**20
WITHIN = 0.05  # of 1: of the interval's halves beside its median, and of what they may leave out
FEWEST_PAIRS, MOST_PAIRS = 20, 200
PROGRAM = "likwid-bench"


@dataclass(frozen=True)
class Loop:
    """A kernel of the probe and likwid's of the same loop, with ordinary stores and vectors of the
    same width as the probe's build. arrays: that it uses."""

    likwid: str
    arrays: int


LOOPS: Mapping[str, Loop] = {
    "triad": Loop("stream_avx_fma", 3),
    "copy": Loop("copy_avx", 2),
    "load": Loop("load_avx", 1),
}


# ---- pure ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What likwid-bench said of itself. rate_gb_s: of all passes together."""

    rate_gb_s: float
    pus: tuple[int, ...]
    size_bytes: int


def read_likwid(output: str, passes: int) -> Told:
    """Raises NumalabError where it is no report of so many passes."""
    try:
        values = {name: float(re.search(rf"^{re.escape(name)}\s+([\d.e+-]+)", output, re.M)[1])  # type: ignore[index]
                  for name in ("Time:", "Iterations per thread:", "Size (Byte):",
                               "Data volume (Byte):")}  # fmt: skip
    except TypeError as error:
        raise NumalabError(f"{PROGRAM} gave no report, but: {output.strip()[-300:]!r}") from error
    pus = re.findall(r"^Group: 0 Thread \d+ Global Thread \d+ running on hwthread (\d+)", output,
                     re.M)  # fmt: skip
    volume, size = values["Data volume (Byte):"], values["Size (Byte):"]
    if not pus or values["Iterations per thread:"] != passes or volume != passes * size:
        raise NumalabError(
            f"{PROGRAM} counted its passes or threads otherwise than expected: {output}"
        )
    return Told(1e-9 * volume / values["Time:"], tuple(map(int, pus)), round(size))


def probe_rate_gb_s(record: Json) -> float:
    """Of all passes together; bytes that the loop reads and writes."""
    (times,) = record["times"]
    counted = times["bytes_moved"] - times["bytes_allocated"]
    return float(1e-9 * counted * len(times["elapsed_s"]) / sum(times["elapsed_s"]))


Verdict = Literal["agrees", "differs", "open"]


@dataclass(frozen=True)
class Agreement:
    """Of the probe's rate over likwid's, in pairs."""

    ratio: MedianInterval
    pairs: int

    @property
    def is_narrow(self) -> bool:
        """Whether no end of the interval is further from its median than is asked for."""
        half = max(self.ratio.high - self.ratio.median, self.ratio.median - self.ratio.low)
        return self.ratio.is_wide_enough and half <= WITHIN * self.ratio.median

    @property
    def is_over(self) -> bool:
        return self.pairs >= MOST_PAIRS or (self.pairs >= FEWEST_PAIRS and self.is_narrow)

    @property
    def verdict(self) -> Verdict:
        """agrees: narrow, and it comes within 0.05 of 1."""
        if not self.is_over or not self.is_narrow:
            return "open"
        is_near = self.ratio.low <= 1 + WITHIN and self.ratio.high >= 1 - WITHIN
        return "agrees" if is_near else "differs"


def agreement(ratios: Sequence[float]) -> Agreement:
    """ratios: one or more."""
    return Agreement(median_interval(ratios), len(ratios))


def table(ratios: Mapping[str, Sequence[float]], rates: Mapping[str, Sequence[float]]) -> list[str]:
    """A line for each loop. rates: likwid's, in GB/s."""
    lines = [f"{'loop':<7}{PROGRAM:<17}{'pairs':>5}{'GB/s':>8}   probe / likwid          verdict"]
    for name, found in ratios.items():
        known = agreement(found)
        middle = median_interval(rates[name]).median
        interval = f"{known.ratio.median:.3f} [{known.ratio.low:.3f}, {known.ratio.high:.3f}]"
        lines.append(f"{name:<7}{LOOPS[name].likwid:<17}{known.pairs:>5}{middle:>8.1f}   "
                     f"{interval:<22}  {known.verdict}")  # fmt: skip
    return lines


# ---- measured --------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """array_bytes: of each; threads: one per core of one NUMA node. every: how many of likwid's PUs
    a core has."""

    array_bytes: int
    passes: int
    domain: str
    threads: int
    every: int


def likwid_command(loop: Loop, size: Size) -> list[str]:
    group = f"{size.domain}:{loop.arrays * size.array_bytes}B:{size.threads}:1:{size.every}"
    return [PROGRAM, "-t", loop.likwid, "-w", group, "-i", str(size.passes)]


def run_likwid(loop: Loop, size: Size) -> Told:
    """Raises NumalabError, and Interrupted."""
    command = likwid_command(loop, size)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=shell_variables.observer_environment()
        )
    except KeyboardInterrupt as error:
        raise Interrupted from error
    if done.returncode != 0:
        raise NumalabError(
            f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-300:]}"
        )
    told = read_likwid(done.stdout, size.passes)
    if len(told.pus) != size.threads:
        raise NumalabError(f"{PROGRAM} ran {len(told.pus)} threads, not {size.threads}")
    return told


def run_probe(installation: Installation, name: str, size: Size, told: Told) -> float:
    """GB/s, on the PUs that likwid took and as many bytes. Raises NumalabError, Interrupted."""
    array_bytes = told.size_bytes // LOOPS[name].arrays
    arguments = (name, "pages=small", f"bytes={array_bytes}", f"repetitions={size.passes}",
                 "first_touch=one", f"pus={','.join(map(str, told.pus))}")  # fmt: skip
    key: dict[str, int | str] = {"threads": size.threads, "bytes": array_bytes}
    record = parse_record(
        run_program(installation.probe, arguments, shell_variables.observer_environment()), key
    )
    if record["thread_pus"] != list(told.pus):
        raise NumalabError(f"the probe's threads sat on {record['thread_pus']}, not {told.pus}")
    return probe_rate_gb_s(record)


def pairs(
    installation: Installation, name: str, size: Size, told: Told
) -> Iterator[tuple[float, float]]:
    """The probe's GB/s and likwid's, without end; who begins is drawn. told: of an earlier run."""
    while True:
        probe_first = random.random() < 0.5
        first = run_probe(installation, name, size, told) if probe_first else None
        likwid_gb_s = run_likwid(LOOPS[name], size).rate_gb_s
        yield (
            (first if first is not None else run_probe(installation, name, size, told)),
            likwid_gb_s,
        )


def size_of(node: Json, domain: str, array_mib: int, passes: int) -> Size:
    """One thread per core of NUMA node 0."""
    of_node = [entry for entry in node["pu_list"] if entry["numa_node"] == 0]
    cores = len({entry["core"] for entry in of_node})
    return Size(array_mib * MIB, passes, domain, cores, len(of_node) // cores)


def recorded(path: Path, size: Size) -> dict[str, list[tuple[float, float]]]:
    """Pairs by loop, of a file that may not be there yet. Raises UserError where it is of another
    size."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in LOOPS}
    for line in lines_of(path) if path.exists() else ():
        if (line["array_bytes"], line["passes"], line["threads"]) != (
            size.array_bytes, size.passes, size.threads,
        ):  # fmt: skip
            raise UserError(f"{path} has pairs of another size; name another file with --out")
        found[line["loop"]].append((line["probe_gb_s"], line["likwid_gb_s"]))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Returns 0 where all agree, 1 where one differs or stays open."""
    if shutil.which(PROGRAM) is None:
        raise UserError(f"{PROGRAM} is not installed (Debian's package likwid)")
    installation = find_installation(arguments.preset)
    build_explorations(installation, [installation.probe.name])
    size = size_of(describe_node(installation), arguments.domain, arguments.mib, arguments.passes)
    found = recorded(arguments.out, size)
    out = Appender(arguments.out)
    try:
        # In turns, so that what disturbs the node for a while disturbs all loops.
        running = {
            name: pairs(installation, name, size, run_likwid(LOOPS[name], size)) for name in LOOPS
        }
        progress = Progress("pairs at most", sum(map(len, found.values())), MOST_PAIRS * len(LOOPS))
        for name in itertools.cycle(LOOPS):
            if all(is_over(of_loop) for of_loop in found.values()):
                break
            if is_over(found[name]):
                continue
            pair = next(running[name])
            found[name].append(pair)
            out.append({
                "loop": name, "array_bytes": size.array_bytes, "passes": size.passes,
                "threads": size.threads, "probe_gb_s": pair[0], "likwid_gb_s": pair[1],
            })  # fmt: skip
            progress.step(sum(map(len, found.values())))
    except (KeyboardInterrupt, Interrupted):
        print("interrupted: the same command goes on", file=sys.stderr)
    finally:
        out.close()
    known = {name: of_loop for name, of_loop in found.items() if of_loop}
    ratios = {name: [probe / likwid for probe, likwid in of] for name, of in known.items()}
    print("\n".join(table(ratios, {name: [pair[1] for pair in of] for name, of in known.items()})))
    agrees = [agreement(of_loop).verdict == "agrees" for of_loop in ratios.values()]
    return 0 if len(agrees) == len(LOOPS) and all(agrees) else 1


def is_over(of_loop: Sequence[tuple[float, float]]) -> bool:
    return bool(of_loop) and agreement([probe / likwid for probe, likwid in of_loop]).is_over


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--out", type=Path, default=Path("build/bench/likwid.jsonl"))
    parser.add_argument("--mib", type=int, default=128, help="of each array (128)")
    parser.add_argument("--passes", type=int, default=40, help="of each process, up to 64 (40)")
    parser.add_argument("--domain", default="M0", help="likwid's, of NUMA node 0 (M0)")
    parser.add_argument("--preset", default="gnu")
    try:
        sys.exit(run(parser.parse_args()))
    except (UserError, NumalabError) as error:
        sys.exit(f"against_likwid: {error}")


if __name__ == "__main__":
    main()
