"""A student's progress: the best result of each lab and language, and the next task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from numalab.errors import NumalabError
from numalab.files import read_json, write_json
from numalab.grading.file_choice import edited_languages, is_pristine
from numalab.installation import Installation
from numalab.judging.verdict import UNGRADED, Status, Verdict, rounded_points
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab
from numalab.labs.hints import NO_LEVELS, Levels, hint_command, is_exhausted
from numalab.words import listed, some

SCHEMA_VERSION = 1
STATUSES = get_args(Status)


@dataclass(frozen=True)
class Result:
    """The result of a grading.

    Attributes:
        points, gradable_points, max_points: of criteria that passed, of those whose status is not
            in UNGRADED, and of all.
        quick: whether it was graded with --quick.
        statuses: by criterion, in the lab's order; of those in left_out "not_gradable".
        left_out: criteria that lack times or virtual machines that were not requested.
        began_in: as in Verdict.
        interrupted: whether Ctrl-C ended the grading early.
    """

    graded_at: str  # ISO 8601, with the time zone
    points: float
    gradable_points: int
    max_points: int
    quick: bool
    statuses: Mapping[str, Status]
    left_out: tuple[str, ...]
    began_in: Mapping[str, str] = field(default_factory=dict)
    interrupted: bool = False

    def having(self, *statuses: Status) -> list[str]:
        """Return the criteria that have one of these statuses, in the lab's order."""
        return [name for name, status in self.statuses.items() if status in statuses]

    @property
    def is_done(self) -> bool:
        """Whether no criterion failed, stayed open or was left out."""
        return not self.having("fail", "inconclusive", "error") and not self.left_out

    @property
    def _rank(self) -> tuple[float, int, bool, int, bool]:
        return (
            self.points,
            -len(self.left_out),
            not self.interrupted,
            -len(self.having("fail")),
            not self.quick,
        )

    def is_better_than(self, other: Result | None) -> bool:
        """Tell whether this result ranks above another: by points, then by what was left out,
        interrupted, failed, and graded with --quick. None: there is no other, and it does."""
        return other is None or self._rank > other._rank


@dataclass(frozen=True)
class LearnerProgress:
    """A student's progress: the best results, by lab and language.
    failed: the criteria that failed in each lab's last grading, in whichever language; of those
    that were interrupted one counts only if any failed. began_in: as in Verdict, of the same
    gradings."""

    best: Mapping[str, Mapping[str, Result]] = field(default_factory=dict)
    failed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    began_in: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def add_result(self, lab: str, language: str, result: Result, is_own: bool) -> LearnerProgress:
        """Return the progress with one more result. is_own: whether it is of the student's work;
        else it is not made a best result."""
        best = {name: dict(results) for name, results in self.best.items()}
        results = best.setdefault(lab, {})
        if is_own and result.is_better_than(results.get(language)):
            results[language] = result
        if result.interrupted and not result.having("fail"):
            return replace(self, best=best)  # whether anything fails is not known yet
        return LearnerProgress(
            best,
            {**self.failed, lab: tuple(result.having("fail"))},
            {**self.began_in, lab: result.began_in},
        )

    def results_of(self, lab: Lab) -> dict[str, Result]:
        """Return the best results by language, with those languages and criteria that the lab still
        has."""
        names = {criterion.name for criterion in lab.criteria}
        return {
            language: replace(
                result,
                statuses={name: s for name, s in result.statuses.items() if name in names},
                left_out=tuple(name for name in result.left_out if name in names),
            )
            for language, result in self.best.get(lab.name, {}).items()
            if language in lab.languages
        }

    def json_data(self) -> dict[str, Any]:
        best = {lab: results for lab, results in self.best.items() if results}
        return {"schema": SCHEMA_VERSION, **asdict(replace(self, best=best))}


def result_of(
    lab: Lab,
    verdict: Verdict,
    graded_at: datetime,
    quick: bool,
    is_untimed: bool,
    machines: Collection[str] | None,
    interrupted: bool = False,
) -> Result:
    """Return the result of a verdict. Left out are criteria that lack times or virtual machines
    that were not requested, unless they failed. is_untimed: whether no times were requested;
    machines: names of the virtual machines that were, None: all of the lab's; interrupted: whether
    Ctrl-C ended the grading early."""
    statuses, earned = dict(verdict.statuses), verdict.earned
    machine_names = set(lab.machines if machines is None else machines)
    left_out = tuple(
        c.name
        for c in lab.criteria
        if _is_left_out(lab, c, statuses[c.name], is_untimed, machine_names)
    )
    statuses |= dict.fromkeys(left_out, "not_gradable")
    return Result(
        graded_at=graded_at.isoformat(timespec="seconds"),
        points=rounded_points(sum(p for name, p in earned.items() if statuses[name] == "pass")),
        gradable_points=sum(c.points for c in lab.criteria if statuses[c.name] not in UNGRADED),
        max_points=lab.max_points,
        quick=quick,
        statuses=statuses,
        left_out=left_out,
        began_in=verdict.began_in,
        interrupted=interrupted,
    )


def _is_left_out(
    lab: Lab, criterion: Criterion, status: Status, is_untimed: bool, machine_names: Collection[str]
) -> bool:
    if criterion.kind == "timing":
        return is_untimed and status == "not_gradable"
    if criterion.kind != "evidence" or status == "fail":
        return False
    if criterion.on_machines:
        return not set(lab.machines) <= set(machine_names)
    return status == "not_gradable" and lab.machines[0] not in machine_names


# ---- the file ------------------------------------------------------------------------------


def _result(data: Any) -> Result | None:
    """Return the result in an entry of the file; None where it has another form."""
    try:
        datetime.fromisoformat(data["graded_at"])
        statuses = {str(name): status for name, status in data["statuses"].items()}
        if not set(statuses.values()) <= set(STATUSES):
            return None
        return Result(
            graded_at=data["graded_at"],
            points=rounded_points(float(data["points"])),
            gradable_points=int(data["gradable_points"]),
            max_points=int(data["max_points"]),
            quick=bool(data["quick"]),
            statuses=statuses,
            left_out=tuple(map(str, data["left_out"])),
            began_in=_names(data.get("began_in", {})),
            interrupted=bool(data.get("interrupted", False)),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _names(data: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in data.items()}


def _table(data: Any, key: str) -> dict[str, Any]:
    table = data.get(key)
    return table if isinstance(table, dict) else {}


def is_damaged(store: Path) -> bool:
    """Tell whether there is a file that this version of numalab can't read."""
    data = read_json(store)
    is_ours = isinstance(data, dict) and data.get("schema") == SCHEMA_VERSION
    return store.exists() and not is_ours


def load_progress(store: Path) -> LearnerProgress:
    """Read the progress; a file that is missing or can't be read is no progress.
    Entries that can't be read are left out."""
    data = None if is_damaged(store) else read_json(store)
    if data is None:
        return LearnerProgress()
    best: dict[str, dict[str, Result]] = {}
    for lab, results in _table(data, "best").items():
        for language, entry in results.items() if isinstance(results, dict) else ():
            result = _result(entry)
            if result is not None:
                best.setdefault(lab, {})[language] = result
    failed = {
        lab: tuple(map(str, names))
        for lab, names in _table(data, "failed").items()
        if isinstance(names, list)
    }
    began_in = {
        lab: _names(functions)
        for lab, functions in _table(data, "began_in").items()
        if isinstance(functions, dict)
    }
    return LearnerProgress(best, failed, began_in)


def aside_path(store: Path) -> Path:
    """Return the path to which a file that can't be read is moved."""
    return store.with_name(f"{store.name}.damaged")


def save_progress(store: Path, progress: LearnerProgress) -> None:
    """Write the progress; a file that can't be read is moved to aside_path first.
    Raises NumalabError if it can't be written."""
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        if is_damaged(store):
            store.replace(aside_path(store))
        write_json(store, progress.json_data())
    except OSError as error:
        raise NumalabError(f"your progress can't be kept in {store}: {error.strerror}") from error


# ---- the student's own work ----------------------------------------------------------------


def is_own_work(installation: Installation, lab: Lab, language: str) -> bool:
    """Tell whether a language's kernel in labs/ is the student's work. It is if it was edited; or,
    where no language's was, if a file that is handed in with it is not the starting code's or is
    missing."""
    edited = edited_languages(installation, lab)
    folder = installation.own_folder(lab.name)
    if not (folder / KERNEL_FILES[language]).is_file():
        return False
    return language in edited or (
        not edited and not is_pristine(installation, lab, language, folder, includes_files=True)
    )


def keep_result(installation: Installation, lab: Lab, verdict: Verdict, result: Result) -> None:
    """Add a result of the student's files in labs/ to the progress. Raises NumalabError if it can't
    be written."""
    is_own = is_own_work(installation, lab, verdict.language)
    before = load_progress(installation.progress_file)
    after = before.add_result(lab.name, verdict.language, result, is_own)
    save_progress(installation.progress_file, after)


def now() -> datetime:
    return datetime.now(UTC)


# ---- the next task -------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What to work on next. commands: for it, each with what it does.
    language: None where the lab has no result; criterion: None also where none failed."""

    lab: str
    language: str | None
    criterion: str | None
    what: str
    commands: tuple[tuple[str, str], ...]

    def json_data(self) -> dict[str, Any]:
        return {
            "lab": self.lab,
            "language": self.language,
            "criterion": self.criterion,
            "what": self.what,
            "commands": [command for command, _ in self.commands],
        }


def best_language(results: Mapping[str, Result]) -> str | None:
    """Return the language with the best result; None where there is no result."""
    best: str | None = None
    for language, result in results.items():
        if best is None or result.is_better_than(results[best]):
            best = language
    return best


def is_done(results: Mapping[str, Result]) -> bool:
    """Tell whether a lab is done, for which one language is enough."""
    return any(result.is_done for result in results.values())


def _task(lab: Lab, results: Mapping[str, Result], hints: Levels) -> Task:
    language = best_language(results)
    if language is None:
        do = "go on with" if hints else "begin: read"
        return Task(
            lab.name, None, None, f"{do} {lab.own_place}/README.md",
            ((f"./numalab grade {lab.called} --quick", "grades what you were given"),),
        )  # fmt: skip
    result = results[language]
    failed = result.having("fail")
    grade = f"./numalab grade {lab.called} --lang {language}"
    if not failed:
        what = "grade it once more: " + (
            f"{listed(result.left_out)} {_were(result.left_out)} left out"
            if result.left_out
            else f"{some(result.having('inconclusive', 'error'))} stayed open"
        )
        return Task(lab.name, language, None, what, ((grade, "grades all of it"),))
    began_in = result.began_in.get(failed[0], "")
    hint = hint_command(lab, failed[0], began_in, hints)
    watch = f"./numalab watch {lab.called} --lang {language}"
    of_kernel = any(c.name == failed[0] and c.kind == "correctness" for c in lab.criteria)
    what = f"fix {KERNEL_FILES[language]}, {failed[0]} fails" if of_kernel else f"fix {failed[0]}"
    commands = [(watch, "grades whenever you save")]
    if is_exhausted(lab, failed[0], hints, began_in) and lab.shows_solution:
        why = f"cat solutions/{lab.name}/README.md"
        commands.insert(0, (why, "all hints on it are read; this explains the solution"))
    elif hint is not None:
        commands.insert(0, (hint, "a hint"))
    return Task(lab.name, language, failed[0], what, tuple(commands))


def _were(names: Collection[str]) -> str:
    return "was" if len(names) == 1 else "were"


def next_task(
    labs: Sequence[Lab], progress: LearnerProgress, hints: Mapping[str, Levels] | None = None
) -> Task | None:
    """Return the next task; None: all labs are done. hints: the levels that were read, by lab. Of
    the labs that are not done it is in the one that has the latest of the best results; if none has
    a result, in the first one whose hints were read, else in the first."""
    left = [(lab, progress.results_of(lab)) for lab in labs]
    left = [(lab, results) for lab, results in left if not is_done(results)]
    if not left:
        return None
    hints = hints or {}

    def last_worked_on(lab_and_results: tuple[Lab, Mapping[str, Result]]) -> tuple[str, bool]:
        lab, results = lab_and_results
        return max((result.graded_at for result in results.values()), default=""), lab.name in hints

    # If none has been graded, the first, since max takes the first of equal ones.
    lab, results = max(left, key=last_worked_on)
    return _task(lab, results, hints.get(lab.name, NO_LEVELS))
