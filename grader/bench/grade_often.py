"""How often a solution's speed fails, and a handout's passes: the timing criteria of labs, graded
many times as `numalab grade` does, with nothing kept from one grading to the next.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bounds import upper_bound
from load import competing_load
from progress import Progress
from series import Appender, lines_of

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.record import Json
from numalab.grading import handed_files
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import take_times
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging.effort import Effort, effort_for
from numalab.judging.timing_account import timing_accounts
from numalab.judging.timing_claims import CLAIMS
from numalab.labs.declaration import Criterion, Lab, choose_labs, load_labs

VARIANTS = ("solution", "handout")
WRONG = {"solution": "fail", "handout": "pass"}


def is_timed(criterion: Criterion) -> bool:
    return criterion.rule in CLAIMS


def only_timed(lab: Lab) -> Lab:
    """And what is about a file: a launch may be timed."""
    timed = tuple(c for c in lab.criteria if is_timed(c) or c.file is not None)
    return replace(lab, criteria=timed if any(map(is_timed, timed)) else ())


@dataclass(frozen=True)
class How:
    """What all gradings of a table have in common. size: also "--quick", which has thresholds of
    its own; cell: what runs beside them."""

    size: str
    language: str
    cell: str

    @property
    def effort(self) -> Effort:
        if self.size == "--quick":
            return effort_for("quick", quick=True)
        return effort_for(self.size, quick=False)


def grade_once(installation: Installation, lab: Lab, variant: str, how: How, node: Json) -> Json:
    """Verdicts and seconds, and the logarithms of each criterion's margins. lab: of timing
    criteria only. Raises NumalabError and Interrupted."""
    language = how.language
    folders = {
        "solution": installation.solution_folder(lab.name),
        "handout": installation.pristine_folder(lab.name),
    }
    session = Grading(
        installation, lab, language, variant, folders[variant], how.effort, node,
        lambda step: None, afresh=True,
    )  # fmt: skip
    start_s = time.monotonic()
    handed_files.read_files(session)
    if not session.build():
        raise NumalabError(f"the {variant} of {lab.name} does not build")
    take_times(session)
    spent_s = time.monotonic() - start_s
    verdict, evidence = session.verdict(), session.evidence
    margins = {
        account.criterion.name: [round(math.log(margin), 5) for margin in account.state.margins]
        for account in timing_accounts(lab, verdict, evidence)
    }
    return {
        "lab": lab.name,
        "variant": variant,
        "size": how.size,
        "language": language,
        "cell": how.cell,
        "spent_s": spent_s,
        "timing_s": session.spent_s.get("timing", 0.0),
        "verdicts": {
            c.name: {"status": c.status, "cause": c.cause, "value": c.value}
            for c in verdict.criteria
        },
        "log_margins": margins,
    }


def tally(lines: Sequence[Json], labs: Sequence[Lab]) -> list[str]:
    """A table: for each criterion and variant how often which verdict came out."""
    rows = [
        f"{'lab':<20}{'criterion':<18}{'variant':<10}{'pass':>6}{'fail':>6}{'open':>6}"
        f"{'n/a':>6}  wrong, at most  open, at most  median s"
    ]
    for lab in labs:
        for criterion in filter(is_timed, lab.criteria):
            for variant in VARIANTS:
                mine = [x for x in lines if x["lab"] == lab.name and x["variant"] == variant]
                found = Counter(x["verdicts"][criterion.name]["status"] for x in mine)
                if not mine:
                    continue
                seconds = sorted(x["spent_s"] for x in mine)[len(mine) // 2]
                wrong = "                "
                if variant == "solution" or criterion.rule == "speedup":
                    most = upper_bound(found[WRONG[variant]], len(mine))
                    wrong = f"{found[WRONG[variant]]:>5}, {most:>7.1%} "
                still = found["inconclusive"]
                open_share = f"{still:>4}, {upper_bound(still, len(mine)):>7.1%} "
                rows.append(
                    f"{lab.name:<20}{criterion.name:<18}{variant:<10}{found['pass']:>6}"
                    f"{found['fail']:>6}{found['inconclusive']:>6}{found['not_gradable']:>6}"
                    f" {wrong}{open_share}{seconds:>9.1f}"
                )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="such as 03 (all that are timed)")
    parser.add_argument("--times", type=int, default=50, help="gradings of each variant (50)")
    parser.add_argument(
        "--size", choices=("quick", "default"), default="default",
        help="of the arrays, decided with care",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="as grade --quick: size and risk")
    parser.add_argument("--cell", choices=("quiet", "loaded"), default="quiet",
                        help="loaded: one core is 60 %% busy, in bursts")  # fmt: skip
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="(both)")
    parser.add_argument("--lang", choices=("c", "fortran"), default="c")
    parser.add_argument("--out", type=Path, required=True, help="a line for each grading; goes on")
    options = parser.parse_args(arguments)
    installation = find_installation("gnu")
    labs = [only_timed(lab) for lab in choose_labs(load_labs(installation.root), options.labs)]
    labs = [lab for lab in labs if lab.criteria]
    how = How("--quick" if options.quick else options.size, options.lang, options.cell)
    variants = options.variant or VARIANTS
    node = describe_node(installation)
    lines = [
        line
        for line in (list(lines_of(options.out)) if options.out.is_file() else [])
        if How(line["size"], line["language"], line.get("cell", "quiet")) == how
    ]
    done = Counter((line["lab"], line["variant"]) for line in lines)
    wanted = options.times * len(labs) * len(variants)
    progress = Progress("gradings", sum(done.values()), wanted)
    file = Appender(options.out)
    try:
        with installation.lock(), competing_load(how.cell):
            for _ in range(options.times):
                for lab in labs:
                    for variant in variants:
                        if done[lab.name, variant] >= options.times:
                            continue
                        found = grade_once(installation, lab, variant, how, node)
                        file.append(found)
                        lines.append(found)
                        done[lab.name, variant] += 1
                        progress.step(sum(done.values()))
    except (KeyboardInterrupt, Interrupted):
        print("interrupted; the same command goes on", file=sys.stderr)
    finally:
        file.close()
    print("\n".join(tally(lines, labs)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (NumalabError, UserError) as error:
        sys.exit(f"grade_often: {error}")
