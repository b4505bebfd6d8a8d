"""What share of lightspeed the kit's solutions reach: of each lab whose loop has a probe, the
solution beside the probe in generations as a grading takes them, in turns.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from numalab.errors import Interrupted, NumalabError, UserError
from numalab.evidence.kinds import TIMED_ROUND
from numalab.evidence.record import PROBE, SOLUTION, Evidence, Json, TimedRound
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import solution_grading, time_solution
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.installation import Installation, find_installation
from numalab.judging.effort import effort_for
from numalab.judging.planner import Timed
from numalab.judging.rates import ReferenceShare, reference_share
from numalab.judging.sequential import CAREFUL, QUICK
from numalab.labs.declaration import LANGUAGES, Lab, choose_labs, load_labs

LEAST = 8  # generations, before an interval is looked at: as many as bound one


@dataclass
class Course:
    """One solution beside the probe, and its generations."""

    name: str
    session: Grading
    runs: Iterator[Evidence]
    generations: list[TimedRound] = field(default_factory=list)

    def take(self) -> None:
        """One more generation. Raises NumalabError and Interrupted."""
        evidence = next(self.runs)
        generation = evidence.runs_of(TIMED_ROUND)[-1]
        for role, part in generation.roles.items():
            if not part.outcome.ok or part.results.mismatches:
                raise NumalabError(f"{self.name}: the {role} did not end well: {part}")
        self.generations.append(generation)

    def share(self) -> ReferenceShare:
        levels = QUICK if self.session.effort.quick else CAREFUL
        found = reference_share(SOLUTION, self.generations, levels)
        assert found is not None
        return found

    def is_done(self, most: int, width: float) -> bool:
        """By the width of the interval over its median; one that is not known or not bounded by
        then goes on to the most."""
        count = len(self.generations)
        if count < LEAST:
            return False
        found = self.share()
        if count >= most:
            return True
        if found.median is None or found.low is None or found.high is None:
            return False
        return (found.high - found.low) / found.median <= width


def courses_of(
    installation: Installation, labs: Sequence[Lab], size: str, node: Json
) -> Iterator[Course]:
    """Their programs are built. Raises NumalabError."""
    effort = effort_for(size, quick=False)
    for lab in labs:
        for found in lab.lightspeed:
            for language in LANGUAGES if found.has_probe else ():
                session = solution_grading(
                    installation, lab, language, effort, node, lambda step: None
                )
                roles = (SOLUTION, PROBE)
                programs = {session.program(role).name for role in roles}
                build_targets(
                    installation, sorted(programs | {installation.monitor(lab.name).name})
                )
                name = " ".join(filter(None, (lab.number, found.part, language)))
                yield Course(name, session, time_solution(session, Timed(found.part), roles))


def told(course: Course) -> str:
    found, count = course.share(), len(course.generations)
    if found.median is None:
        return f"{course.name}: not known, above 105 %, {count} generations"
    low, high = (None if end is None else f"{100 * end:.1f}" for end in (found.low, found.high))
    return (
        f"{course.name}: {100 * found.median:.1f} % of lightspeed [{low or ''}..{high or ''}], "
        f"{count} generations, n = {course.generations[-1].n:,}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*", metavar="LAB", help="such as 01; all that have a probe")
    parser.add_argument("--size", choices=("quick", "default"), default="quick")
    parser.add_argument("--most", type=int, default=40, help="generations of each (40)")
    parser.add_argument(
        "--width", type=float, default=0.05, help="of the interval over its median: enough (0.05)"
    )
    parser.add_argument("--seconds", type=float, default=240.0, help="in all (240)")
    options = parser.parse_args()
    installation = find_installation("gnu")
    try:
        labs = choose_labs(load_labs(installation.root), options.labs)
        courses = list(courses_of(installation, labs, options.size, describe_node(installation)))
        end_s = time.monotonic() + options.seconds
        going = courses
        while going and time.monotonic() < end_s:
            for course in going:
                course.take()
            print(f"{max(len(c.generations) for c in courses)} generations", file=sys.stderr)
            going = [course for course in going if not course.is_done(options.most, options.width)]
    except (NumalabError, UserError) as error:
        print(f"lightspeed: {error}", file=sys.stderr)
        return 3 if isinstance(error, NumalabError) else 2
    except (KeyboardInterrupt, Interrupted):
        print("lightspeed: interrupted; what there is by now:", file=sys.stderr)
    for course in courses:
        if course.generations:
            print(told(course))
    return 0


if __name__ == "__main__":
    sys.exit(main())
