"""The mistakes of a lab that are known, solutions/NN_name/wrong/wrong.toml: what is wrong in each,
which criteria it fails and what the report says. The suite grades them all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import NumalabError
from numalab.installation import Installation
from numalab.judging.page_rules import local_pages, touched_where_used
from numalab.judging.verdict import CAUSES, Cause
from numalab.labs.declaration import KERNEL_FILES, LANGUAGES, Lab, Language
from numalab.toml_files.tables import Table, read_table

_KEYS = (
    "name", "languages", "mistake", "fails", "fails_on_machine", "may_fail", "says", "says_c",
    "says_fortran", "cause", "hint", "on", "time", "quiet", "waits", "takes_long",
    "leaves_out", "cure",
)  # fmt: skip


@dataclass(frozen=True)
class KnownMistake:
    """One mistake. fails: criteria that it always fails, here or on a machine; may_fail: that it
    fails by luck; says: by language what occurs in the sentence on the first of fails; cause: of
    that verdict, where it is always the same; folder: of its files, None: they are kernels; cure:
    what would make it right, for what serves as a case for diagnosis; here: of fails, those on this
    node, there: those on a machine with several NUMA nodes."""

    name: str
    languages: tuple[Language, ...]
    mistake: str
    fails: tuple[str, ...]
    may_fail: tuple[str, ...]
    says: Mapping[str, str]
    cause: Cause | None
    folder: Path | None
    files: frozenset[str]
    kernels: Mapping[str, Path]
    cure: str | None = None
    here: tuple[str, ...] = ()
    there: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The criterion that a student meets first."""
        return self.fails[0]

    def is_in(self, language: str) -> bool:
        """Files beside a kernel are of no language."""
        return bool(self.files) or language in self.languages

    def says_in(self, language: str) -> str:
        """Of a language that it has not: of one that it has."""
        return self.says.get(language) or next(iter(self.says.values()))


def _entry(table: Table, lab: Lab, wrong: Path) -> KnownMistake:
    criteria = [criterion.name for criterion in lab.criteria]
    name = table.text("name")
    languages = table.choices("languages", LANGUAGES)
    may_fail = table.choices("may_fail", criteria, default=())
    here = table.choices("fails", criteria) if table.values.get("fails") else ()
    there = table.choices("fails_on_machine", criteria, default=())
    fails = tuple(c for c in criteria if c in {*here, *there} - set(may_fail))
    if not fails:
        table.fail(f"{name} fails nothing, or by luck only; a mistake fails something", "name")
    cause = table.maybe("cause", lambda key: table.choice(key, tuple(CAUSES)))
    common = table.text("says", default="")
    says: dict[str, str] = {
        language: common or table.text(f"says_{language}") for language in languages
    }
    folder = wrong / name if (wrong / name).is_dir() else None
    files = frozenset(path.name for path in folder.iterdir()) if folder is not None else frozenset()
    kernels: dict[str, Path] = {}
    if folder is None:
        for language in languages:
            kernels[language] = wrong / f"{name}{Path(KERNEL_FILES[language]).suffix}"
            if not kernels[language].is_file():
                table.fail(f"there is no {kernels[language]}, which languages names", "languages")
    both = (tuple(c for c in criteria if c in some) for some in (here, _there(table, lab, here)))
    mistake, cure = table.text("mistake"), table.maybe("cure", table.text)
    return KnownMistake(
        name, languages, mistake, fails, may_fail, says, cause, folder, files, kernels, cure,
        *both,
    )  # fmt: skip


def _there(table: Table, lab: Lab, here: Collection[str]) -> Collection[str]:
    """What fails on a machine with several NUMA nodes; where the file does not say it, the evidence
    that fails here, and with the pages' users also where they live."""
    if "fails_on_machine" in table:
        return table.choices("fails_on_machine", [criterion.name for criterion in lab.criteria])
    fails = [criterion for criterion in lab.criteria if criterion.name in here]
    return [
        criterion.name
        for criterion in lab.criteria
        if criterion.kind == "evidence"
        and (
            criterion.name in here
            or (local_pages.judges(criterion) and any(map(touched_where_used.judges, fails)))
        )
    ]


def read_mistakes(installation: Installation, lab: Lab) -> tuple[KnownMistake, ...]:
    """All of a lab, in the order of the file. Raises NumalabError."""
    wrong = installation.solution_folder(lab.name) / "wrong"
    top = read_table(wrong / "wrong.toml", NumalabError, ("submission",))
    return tuple(_entry(table, lab, wrong) for table in top.tables("submission", _KEYS))
