"""A class's progress over the days: what was handed in, and what the best of it was worth by then,
as figures and as a small picture. Pure functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from markupsafe import Markup

from numalab import words
from numalab.course.gradebook.standing import Standing, StandingRow, points_share
from numalab.course.pages.histogram import TEXT

MOST_BARS = 60  # of a picture; with more days, a bar stands for several of them
# px: the picture's width, a panel's height, the margins left and right, and the heights of the gap
# above a panel and of the line at the bottom
_WIDTH, _PANEL, _LEFT, _MARGIN, _GAP, _FOOT = 640, 84, 44, 8, 30, 22
_HEIGHT = 2 * _PANEL + 2 * _GAP + _FOOT


@dataclass(frozen=True)
class Days:
    """One or more days of a course.

    Attributes:
        first: the first of these days.
        days: their number.
        handed_in: number of hand-ins on them.
        reached: the points of the class's best gradings by their end, as a share of all that
            kernels and variants can give, 0 to 1.
    """

    first: date
    days: int
    handed_in: int
    reached: float

    @property
    def label(self) -> str:
        last = self.first + timedelta(days=self.days - 1)
        return f"{self.first}" if self.days == 1 else f"{self.first} to {last}"


def _hand_in_times(standing: Standing) -> dict[tuple[str, str, str], datetime]:
    """Return the times of hand-ins, by student, lab and digest. A hand-in of which only gradings
    are known has the time at which one of them began."""
    found = dict(standing.handed_in)
    for row in standing.rows_with_variants:
        for attempt in row.attempts:
            begun = datetime.fromisoformat(attempt.started_at)
            found.setdefault(attempt.target.files, begun)
    return found


def _gains(
    row: StandingRow, times: dict[tuple[str, str, str], datetime]
) -> Iterator[tuple[date, float]]:
    """Yield for each grading the day of its hand-in, and by how many points it is better than all
    before. times: those of all hand-ins."""
    graded = [one for one in row.attempts if one.state == "graded"]
    best = 0.0
    for attempt in sorted(graded, key=lambda one: (times[one.target.files], one.number)):
        better = max(best, *map(points_share, attempt.results))
        yield times[attempt.target.files].date(), (better - best) * row.kernel_points
        best = better


def progress(standing: Standing) -> list[Days]:
    """Return the days from the first to the last hand-in in equal steps, at most MOST_BARS of them;
    none without a hand-in."""
    times = _hand_in_times(standing)
    if not times:
        return []
    on_day = Counter(at.date() for at in times.values())
    gained: dict[date, float] = defaultdict(float)
    for row in standing.rows_with_variants:
        for day, points in _gains(row, times):
            gained[day] += points
    most = sum(row.kernel_points for row in standing.rows_with_variants)
    first, last = min(on_day), max(on_day)
    step = -(-((last - first).days + 1) // MOST_BARS)
    found, reached = [], 0.0
    begin = first
    while begin <= last:
        days = [begin + timedelta(days=k) for k in range(step)]
        reached += sum(gained[day] for day in days)
        share = reached / most if most else 0.0
        found.append(Days(begin, step, sum(on_day[day] for day in days), share))
        begin += timedelta(days=step)
    return found


def progress_words(days: Sequence[Days]) -> str:
    """Return a class's progress in two sentences. days: one or more."""
    busiest = max(days, key=lambda one: one.handed_in)
    handed_in = words.count(sum(one.handed_in for one in days), "hand-in")
    return (
        f"{handed_in} from {days[0].first} on, most of them on {busiest.label} "
        f"({busiest.handed_in}). The best gradings are worth {words.percent(days[-1].reached)} of "
        "the points that the class's kernels can give, before what is taken off or set by hand."
    )


# ---- the picture -------------------------------------------------------------------------


def _panel(top: float, most: str, title: str) -> Iterator[Markup]:
    """Yield a panel's title, base line and scale."""
    yield TEXT.format(0, top - 8, "start", title)
    yield TEXT.format(_LEFT - 6, top + 10, "end", most)
    yield TEXT.format(_LEFT - 6, top + _PANEL, "end", "0")
    yield Markup('<path d="M{} {}H{}"/>').format(_LEFT, top + _PANEL, _WIDTH - _MARGIN)


def picture(days: Sequence[Days], name: str) -> Markup:
    """Draw a class's progress as SVG. days: one or more; name: a prefix of its ids, unique on the
    page."""
    step = (_WIDTH - _LEFT - _MARGIN) / len(days)
    most = max(one.handed_in for one in days)
    per = "day" if days[0].days == 1 else f"{days[0].days} days"
    upper, lower = _GAP, 2 * _GAP + _PANEL
    parts = [
        Markup(
            '<svg class="values days" viewBox="0 0 {} {}" role="img" '
            'aria-labelledby="{}-title {}-desc"><title id="{}-title">Progress over the days'
            '</title><desc id="{}-desc">{}</desc>'
        ).format(_WIDTH, _HEIGHT, name, name, name, name, progress_words(days)),
        *_panel(upper, f"{most}", f"Hand-ins per {per}"),
        *_panel(lower, "100 %", "Points of the class so far"),
    ]
    bar = Markup('<rect{} x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    for number, one in enumerate(days):
        x, wide = _LEFT + number * step, max(step - 1.5, 1.0)
        if one.handed_in:
            tall = max(2.0, _PANEL * one.handed_in / most)
            parts.append(bar.format("", x, upper + _PANEL - tall, wide, tall))
        tall = _PANEL * one.reached
        parts.append(bar.format(Markup(' class="reached"'), x, lower + _PANEL - tall, wide, tall))
    parts.append(TEXT.format(_LEFT, _HEIGHT - 4, "start", days[0].first))
    if days[1:]:
        last = days[-1].first + timedelta(days=days[-1].days - 1)
        parts.append(TEXT.format(_WIDTH - _MARGIN, _HEIGHT - 4, "end", last))
    return Markup("").join([*parts, Markup("</svg>")])
