"""The known mistakes of a lab, declared in solutions/NN_name/wrong/wrong.toml: what is wrong in
each, which criteria it fails and what the report says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.errors import NumalabError
from numalab.installation import Installation
from numalab.judging.page_rules import local_pages, touched_where_used
from numalab.judging.verdict import CAUSES, Cause
from numalab.labs.declaration import KERNEL_FILES, Lab, Language
from numalab.toml_files.tables import Table, read_table

_KEYS = (
    "name", "languages", "mistake", "fails", "fails_on_machine", "may_fail", "says", "says_c",
    "says_fortran", "cause", "hint", "on", "time", "quiet", "waits", "takes_long",
    "leaves_out", "cure",
)  # fmt: skip


@dataclass(frozen=True)
class KnownMistake:
    """A kept mistake with the verdict that it deserves (a wrong submission).

    Attributes:
        mistake: what is wrong, in a sentence.
        fails: the names of the criteria that it always fails, on this or on a virtual machine, as
            far as wrong.toml lists them; in the lab's order.
        may_fail: those that it fails by chance.
        says: by language, words of the report's sentence on the first of `fails`.
        cause: the cause of that verdict; None: wrong.toml names none.
        folder: the folder of its files; None: it is a kernel.
        files: the names of the files in the folder.
        kernels: the path of the kernel, by language; empty where it has a folder.
        cure: what would repair it; None: it does not serve as a case for diagnosis.
        local_fails: the criteria that `fails` of wrong.toml lists, in the lab's order.
        vm_fails: those that it fails on a machine with several NUMA nodes, in the lab's order.
    """

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
    local_fails: tuple[str, ...] = ()
    vm_fails: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The first criterion that it always fails."""
        return self.fails[0]

    def is_in(self, language: str) -> bool:
        """Tell whether the mistake exists in a language. One with a folder of files exists in
        each."""
        return bool(self.files) or language in self.languages

    def says_in(self, language: str) -> str:
        """Return the words of the report for a language, else those for another one."""
        return self.says.get(language) or next(iter(self.says.values()))


def _entry(table: Table, lab: Lab, mistakes_folder: Path) -> KnownMistake:
    criteria = [criterion.name for criterion in lab.criteria]
    name = table.text("name")
    languages = table.choices("languages", lab.languages)
    may_fail = table.choices("may_fail", criteria, default=())
    local_fails = table.choices("fails", criteria) if table.values.get("fails") else ()
    vm_fails = table.choices("fails_on_machine", criteria, default=())
    fails = tuple(c for c in criteria if c in {*local_fails, *vm_fails} - set(may_fail))
    if not fails:
        table.fail(f"{name} fails nothing, or by luck only; a mistake fails something", "name")
    cause = table.maybe("cause", lambda key: table.choice(key, tuple(CAUSES)))
    common = table.text("says", default="")
    says: dict[str, str] = {
        language: common or table.text(f"says_{language}") for language in languages
    }
    folder = mistakes_folder / name if (mistakes_folder / name).is_dir() else None
    files = frozenset(path.name for path in folder.iterdir()) if folder is not None else frozenset()
    kernels: dict[str, Path] = {}
    if folder is None:
        for language in languages:
            kernels[language] = mistakes_folder / f"{name}{Path(KERNEL_FILES[language]).suffix}"
            if not kernels[language].is_file():
                table.fail(f"there is no {kernels[language]}, which languages names", "languages")
    both = (
        tuple(c for c in criteria if c in some)
        for some in (local_fails, _vm_fails(table, lab, local_fails))
    )
    mistake, cure = table.text("mistake"), table.maybe("cure", table.text)
    return KnownMistake(
        name, languages, mistake, fails, may_fail, says, cause, folder, files, kernels, cure,
        *both,
    )  # fmt: skip


def _vm_fails(table: Table, lab: Lab, local_fails: Collection[str]) -> Collection[str]:
    """Return the criteria that fail on a machine with several NUMA nodes. Where the file does not
    list them, these are the criteria of evidence that fail on this machine, and local_pages where
    touched_where_used fails."""
    if "fails_on_machine" in table:
        return table.choices("fails_on_machine", [criterion.name for criterion in lab.criteria])
    fails = [criterion for criterion in lab.criteria if criterion.name in local_fails]
    return [
        criterion.name
        for criterion in lab.criteria
        if criterion.kind == "evidence"
        and (
            criterion.name in local_fails
            or (local_pages.judges(criterion) and any(map(touched_where_used.judges, fails)))
        )
    ]


def read_mistakes(installation: Installation, lab: Lab) -> tuple[KnownMistake, ...]:
    """Return the mistakes of a lab, in the order of wrong.toml; none where the lab has no folder of
    mistakes yet. Raises NumalabError where the file is missing in it, or wrong."""
    mistakes_folder = installation.solution_folder(lab.name) / "wrong"
    if not mistakes_folder.is_dir():
        return ()
    top = read_table(mistakes_folder / "wrong.toml", NumalabError, ("submission",))
    return tuple(_entry(table, lab, mistakes_folder) for table in top.tables("submission", _KEYS))
