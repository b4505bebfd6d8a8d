"""What `doctor --noise` prints and writes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalab.doctor.doctor_report import STYLES
from numalab.doctor.findings import FindingLevel
from numalab.doctor.noise import Forecast, difference, effect_margins, margins
from numalab.doctor.noise_run import Noise, NotTimed, TimedTogether
from numalab.evidence.record import HANDOUT, SOLUTION
from numalab.judging.sequential import CAREFUL, least_signs
from numalab.judging.timing_claims import LEAST_HANDOUT_RATIO, SPEEDUP, best_s
from numalab.labs.declaration import Criterion
from numalab.words import count

SELDOM = 0.05  # below this share of gradings, undecided verdicts are not worth a warning
RARE = 0.01  # below this share a text has no number
PAIRS_OF_1_IN_20 = 20  # from which number on 1 of 20 is reported


def share_words(share: float) -> str:
    """Return a share [0..1] of gradings in words, such as "7 of 10"."""
    if share > 0.95:
        return "nearly all"
    if share >= 0.5:
        return f"{round(10 * share)} of 10"
    return f"1 of {round(1 / share)}" if share >= RARE else "hardly any"


def seconds_in_words(seconds: float) -> str:
    if seconds >= 90:
        return f"about {round(seconds / 60)} minutes"
    return f"about {max(1, round(seconds))} s"


def _percentile_95(differences: Sequence[float]) -> float:
    import numpy as np  # not for every ./numalab doctor

    return float(np.quantile(differences, 0.95))


def differ_in_words(differences: Sequence[float]) -> str:
    """Return a text on the median of differences, and on the one that 1 of 20 exceeds; on the
    largest where there are fewer than PAIRS_OF_1_IN_20. differences: shares, one at least."""
    middle = f"{100 * median(differences):.1f} % (median)"
    if len(differences) < PAIRS_OF_1_IN_20:
        return f"{middle}, and by {100 * max(differences):.1f} % at most"
    return f"{middle}, and by more than {100 * _percentile_95(differences):.1f} % in 1 of 20"


def forecast_in_words(timing: TimedTogether, observed: Forecast) -> tuple[FindingLevel, str]:
    """Return a level and a text on how gradings by a criterion end on this machine, and how long a
    verdict takes. timing: with a round or more."""
    seconds = observed.generations * timing.replicate_s
    verdict = f"{seconds_in_words(seconds)} per verdict"
    if observed.share_not_gradable > 0.5:
        pairs = ((best_s(g, HANDOUT), best_s(g, SOLUTION)) for g in timing.replicates)
        ratio = median(slow / fast for slow, fast in pairs)
        return "note", (
            f"not gradable: what is slow takes {ratio:.2f} times the solution's time here, and "
            f"{LEAST_HANDOUT_RATIO:g} times is needed"
        )
    if observed.share_open >= SELDOM:
        level: FindingLevel = "bad" if observed.share_open > 0.5 else "note"
        return level, f"{verdict}; would stay open in {share_words(observed.share_open)} gradings"
    return "good", verdict


def _summary(noise: Noise) -> list[str]:
    differences = noise.differences
    if not differences:
        return ["Nothing was measured."]
    pairs = count(len(differences), "pair")
    return [
        f"Two runs of the same program differ by {differ_in_words(differences)}: {pairs} of "
        f"processes in {noise.measured_s:.0f} s.",
        "A time is graded by comparing fresh processes again and again, until chance can no "
        "longer explain the outcome: "
        f"{least_signs(CAREFUL.e_to_pass)} times where all agree, more where noise turns some "
        "round. What is still undecided at the end stays open, and the next grading goes on "
        "with it. Just now that takes, for the kit's own solution in C, without --quick, and "
        "beside building and evidence:",
    ]


def _not_timed(others: Sequence[NotTimed]) -> list[str]:
    """Return a line for each reason, with the criteria."""
    names: dict[str, list[str]] = {}
    for other in others:
        name = f"{other.lab.name.split('_')[0]} {other.criterion.name}"
        names.setdefault(other.why, []).append(name)
    return [f"Not among them: {', '.join(observed)}. {why}." for why, observed in names.items()]


def show_noise(console: Console, noise: Noise) -> None:
    console.print(Text("Noise of times", style="bold"))
    for line in _summary(noise):
        console.print(Padding(line, (0, 0, 0, 2)))
    table = Table.grid(padding=(0, 1))
    table.add_column(width=4)
    table.add_column()
    table.add_column(ratio=1)
    for timing in noise.timings:
        for criterion in timing.criteria:
            name = f"{timing.lab.name.split('_')[0]} {criterion.name}"
            forecast = timing.forecast(criterion)
            if timing.error is not None:
                table.add_row("n/a", name, f"{timing.error}.")
            elif forecast is None:
                made = count(len(timing.replicates), "comparison")
                table.add_row("?", name, f"too few to tell: {made}.")
            else:
                level, words = forecast_in_words(timing, forecast)
                mark, style = STYLES[level]
                table.add_row(Text(mark, style=style), name, f"{words}.")
    console.print(Padding(table, (0, 0, 0, 2)))
    for line in _not_timed(noise.not_timed):
        console.print(Padding(line, (0, 0, 0, 2)))


def _criterion_json(timing: TimedTogether, criterion: Criterion) -> dict[str, Any]:
    forecast = timing.forecast(criterion)
    data: dict[str, Any] = {
        "lab": timing.lab.name,
        "criterion": criterion.name,
        "why_not": timing.error,
        "margins": [margins(generation, criterion.at_least) for generation in timing.replicates],
        "effect_margins": [effect_margins(generation) for generation in timing.replicates]
        if SPEEDUP.judges(criterion)
        else None,
        "forecast": None,
    }
    if forecast is not None:
        level, words = forecast_in_words(timing, forecast)
        data["forecast"] = asdict(forecast) | {
            "generation_s": timing.replicate_s,
            "verdict_s": forecast.generations * timing.replicate_s,
            "level": level,
            "means": words,
        }
    return data


def noise_json(noise: Noise) -> dict[str, Any]:
    """Return rounds, differences, margins and forecasts as JSON. Margins are natural logarithms."""
    differences = noise.differences
    return {
        "measured_s": noise.measured_s,
        "interrupted": noise.interrupted,
        "pairs": len(differences),
        "difference_median": median(differences) if differences else None,
        "difference_1_in_20": _percentile_95(differences) if differences else None,
        "timings": [
            {
                "lab": timing.lab.name,
                "part": timing.timed.part,
                "slow": timing.timed.slow,
                "roles": list(timing.roles),
                "generations": [
                    {
                        "seconds": seconds,
                        "n": generation.n,
                        "elapsed_s": {
                            role: list(times) for role, times in generation.elapsed_s.items()
                        },
                        "difference": difference(generation),
                    }
                    for generation, seconds in zip(timing.replicates, timing.seconds, strict=True)
                ],
            }
            for timing in noise.timings
        ],
        "criteria": [
            _criterion_json(timing, criterion)
            for timing in noise.timings
            for criterion in timing.criteria
        ]
        + [
            {
                "lab": other.lab.name, "criterion": other.criterion.name, "why_not": other.why,
                "margins": [], "effect_margins": None, "forecast": None,
            }
            for other in noise.not_timed
        ],
    }  # fmt: skip
