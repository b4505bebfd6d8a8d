"""The parts of numalab that a kept result depends on, in two digests.

- *Measured by*: what evidence depends on.
- *Judged by*: what only the verdict on that evidence depends on.

Other things, such as prose, pages and commands, are in neither. Both digests are made of code
(code_forms.py). The path of a file counts where numalab finds the file by its name: in a lab, a
solution, and among machines. So a digest mostly does not change with a comment, a docstring, or a
file that is moved or renamed along with the includes, imports and lists that name it.

former_digests.toml has digests of earlier versions that are proved to measure alike.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from numalab.errors import NumalabError
from numalab.grading import code_forms
from numalab.grading.code_forms import (
    Form,
    Resolver,
    form_of,
    forms_of,
    text_of_sources,
    values_text,
)
from numalab.installation import Installation
from numalab.labs import code_tokens
from numalab.labs.variants import FOLDER, lab_of_variant
from numalab.toml_files.tables import read_table

Counts = Literal["evidence", "verdict", "neither"]

# Packages and files of the Python package: what each counts for, and why. The longest path that
# matches holds. What is not listed counts for evidence: then too much is measured, never too
# little.
MODULES: Mapping[str, tuple[Counts, str]] = {
    "evidence": ("evidence", "what a record holds"),
    "evidence/core_kinds.py": ("verdict", "which cores are alike is worked out of records"),
    "evidence/former_keys.py": ("verdict", "how records of schema 1 are read"),
    "evidence/page_work.py": ("verdict", "who works on pages is worked out of records"),
    "evidence/touch.py": ("verdict", "shares of pages are worked out of records"),
    "evidence/work.py": ("verdict", "shares of work are worked out of records"),
    "machines": ("evidence", "what virtual nodes are made like, and units of topologies"),
    "machines/announced.py": ("evidence", "which processors a machine's file may name"),
    "machines/export_parts.py": ("neither", "writes files of machines, which count themselves"),
    "machines/hwloc_export.py": ("neither", "writes files of machines, which count themselves"),
    "machines/hwloc_import.py": ("neither", "writes files of machines, which count themselves"),
    "machines/picture.py": ("neither", "drawings of machines"),
    "machines/rates.py": ("evidence", "which rates a machine's file may give"),
    "labs": ("evidence", "what lab.toml and handed-in files ask to be run"),
    "labs/solution_files.py": ("evidence", "the files that placements are held against"),
    "labs/hint_ladders.py": ("neither", "hints change no run and no verdict"),
    "labs/hints.py": ("neither", "which hints were seen is shown beside a verdict"),
    "labs/seeds.py": ("evidence", "which variant is whose"),
    "modelling": ("neither", "modelled times, which nobody grades"),
    "harness": ("evidence", "builds kernels and runs the monitor"),
    "harness/topology_reader.py": ("neither", "reads exports of other machines"),
    "file_systems": ("evidence", "whether there is room for what is built and run"),
    "processes": ("evidence", "which variables of the shell reach what is built and run"),
    "virtual": ("evidence", "virtual nodes, where placement is seen"),
    "grading": ("evidence", "decides what is run, how often and where"),
    "grading/audit.py": ("neither", "the command that proves labs and variants"),
    "grading/trial.py": ("neither", "set-up's own grading"),
    "grading/explanation.py": ("neither", "what students say of a result is kept beside it"),
    "grading/stored_gradings.py": ("verdict", "judges kept records"),
    "grading/graded.py": ("neither", "what is handed to who shows a verdict"),
    "grading/modelled.py": ("neither", "modelled times, which nobody grades"),
    "grading/own_files.py": ("neither", "where somebody's own files are put for her to edit"),
    "grading/numalab_digests.py": ("neither", "what it says of the kit is what the digests are"),
    "grading/code_forms.py": ("neither", "as numalab_digests.py"),
    "judging": ("verdict", "rules, thresholds and the words of verdicts"),
    "judging/audit.py": ("neither", "the command that proves the labs"),
    "judging/effort.py": ("evidence", "how much is measured"),
    "judging/planner.py": ("evidence", "which runs are made, of whom, and when they stop"),
    "judging/observed_quantities.py": ("evidence", "which looks predictions need"),
    "judging/thread_goals.py": ("evidence", "how many threads are timed"),
    "untrusted": ("evidence", "what can be read, and texts as records keep them"),
    "untrusted/listing.py": ("verdict", "how what compilers said fits a terminal"),
    "toml_files": ("evidence", "reads what lab.toml and machines' files say"),
    "words.py": ("verdict", "the words of verdicts"),
    "errors.py": ("verdict", "the words of what went wrong"),
    "files.py": ("evidence", "files that are staged and kept"),
    "installation.py": ("evidence", "which programs are built and run"),
    "pu_lists.py": ("evidence", "which PUs a list names"),
    "draws.py": ("evidence", "what machines and variants are made of"),
    "__init__.py": ("neither", "the version, and the way into the package"),
    "__main__.py": ("neither", "the way into the package"),
    "exit_codes.py": ("neither", "what a command ends with"),
    "palette.py": ("neither", "colours of pictures"),
    "terminal.py": ("neither", "what a terminal is like"),
    "commands": ("neither", "options and what is printed"),
    "course": ("neither", "who is graded when, and what grades follow"),
    "editions": ("neither", "copies of the kit for students"),
    "doctor": ("neither", "looks at nodes on its own"),
    "explore": ("neither", "experiments without grades"),
    "portrait": ("neither", "measures nodes, and grades nobody"),
    "installing": ("neither", "copies the kit to where many share it, and into images"),
    "learning": ("neither", "what learners see of their gradings"),
    "teaching": ("neither", "what instructors get for a lesson"),
    "diagnosing": ("neither", "the known mistakes as cases for diagnosis"),
    "reports": ("neither", "pages, tables and pictures of what was judged"),
}

# Files among sources that count for neither, such as by-products, prose, and files of tests, pages
# and lessons.
NOT_COUNTED = (
    "*/__pycache__/*", "*/.ipynb_checkpoints/*",
    "*.md", "*.ipynb", "*.png", "*.svg", "*.pdf", "*.jpg", "*.jpeg", "*.gif",
    "common/tests/*", "common/schema/*", "common/probe/*", "common/modelling/*",
    "common/image/*", "common/setup/*",
    "common/cmake/AddExploration.cmake", "common/cmake/exploration.json.in",
    "common/monitor/describe_topology.c",
    "labs/*/test_driver.c", "labs/*/questions.toml", "labs/*/recorded/*",
    "labs/*/explore.c", "labs/*/explore.toml", "labs/*_experiment*.py",
    "labs/*/grading/starting_code/*",  # the same once more, as it was unpacked
    "solutions/*/wrong/*", "solutions/*/answers.toml", "solutions/*/published.toml",
)  # fmt: skip

# Keys of lab.toml by which nothing is run or built. Others count for evidence, some in part.
_WORDS_OF_LAB = ("title", "minutes", "programs", "repetition", "bytes_moved", "modelled_on")
# Keys of its criteria that decide which files are tried and timed, and which kernels there are.
# Others say how evidence is judged; evidence that a new rule lacks is reported as not measured.
_RUN_BY_CRITERION = ("part", "file", "goal", "seed", "variables", "runtimes", "slow")
# Keys of a machine's file that are printed or modelled by. No virtual machine is made by them.
_WORDS_OF_MACHINE = (
    "title", "source", "processor", "notes", "cache", "bandwidth", "latency",
    "rate",
)  # fmt: skip

# What the build reads besides folders.
_BUILD = ("CMakeLists.txt", "CMakePresets.json")
_PACKAGE = "grader/src/numalab"


_NOT_COUNTED = re.compile("|".join(map(fnmatch.translate, NOT_COUNTED)))


@cache
def counts_for(path: str) -> Counts:
    """Return what a file counts for. path: from numalab's root, with '/'.

    A lab.toml and a machine's file count for evidence here, though by some of their keys only.
    Python in a lab's folder is its rules, which count for the verdict.
    """
    if _NOT_COUNTED.match(path):
        return "neither"
    if path.startswith(f"{_PACKAGE}/"):
        inner = path.removeprefix(f"{_PACKAGE}/")
        names = [inner, *(parent.as_posix() for parent in Path(inner).parents)]
        known = [MODULES[name][0] for name in names if name in MODULES]
        if not inner.endswith(".py"):
            return "neither"
        return known[0] if known else "evidence"
    top = path.split("/")[0]
    if top == "labs" and path.endswith(".py"):
        return "verdict"
    is_source = path in _BUILD or top in ("common", "labs", "solutions")
    return "evidence" if is_source else "neither"


def measured_by(installation: Installation, lab: str) -> str:
    """Return the SHA-256 of what counts for the evidence of a lab or a variant (counts_for), as the
    files are in the installation now."""
    is_variant = lab_of_variant(lab) != lab
    files = [
        (name, path)
        for name, path in _files(installation.root, (*_BUILD, _PACKAGE, "common", *_folders(lab)))
        if counts_for(name) == "evidence" and (is_variant or not _is_template(name))
    ]
    return _digest(installation, files, _measured)


def judged_by(installation: Installation, lab: str) -> str:
    """Return the SHA-256 of what verdicts on a lab or variant depend on besides evidence."""
    is_variant = lab_of_variant(lab) != lab

    def is_counted(name: str) -> bool:
        if _is_declaration(name):
            return _is_template(name) == is_variant
        return counts_for(name) == "verdict" and (is_variant or not _is_template(name))

    files = [
        (name, path)
        for name, path in _files(installation.root, (_PACKAGE, *_folders(lab)))
        # Imports of what evidence depends on lead there, or a change of one would not be noticed.
        if is_counted(name) or (name.endswith(".py") and counts_for(name) == "evidence")
    ]
    return _digest(installation, files, form_of, is_counted)


def _folders(lab: str) -> list[str]:
    """Return the folders of a lab and its solution; of a variant also those of its lab."""
    labs = dict.fromkeys((lab, lab_of_variant(lab)))
    return [f"{above}/{name}" for above in ("labs", "solutions") for name in labs]


def _files(root: Path, names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield the named files, and the files below the named folders but those in __pycache__, each
    with its path from the root, with '/', and its place."""
    for name in names:
        top = root / name
        if top.is_file():
            yield name, top
        for folder, inner, files in os.walk(top):
            inner[:] = [one for one in inner if one != "__pycache__"]
            above = Path(folder).relative_to(root).as_posix()
            yield from ((f"{above}/{file}", Path(folder, file)) for file in files)


def _is_template(name: str) -> bool:
    """Tell whether a file is a template of variants."""
    return FOLDER in name.split("/")


def _is_declaration(name: str) -> bool:
    return name.startswith("labs/") and name.endswith("/lab.toml")


def _digest(
    installation: Installation,
    files: Sequence[tuple[str, Path]],
    make: Callable[[str, bytes], Form],
    is_counted: Callable[[str], bool] = lambda name: True,
) -> str:
    """Return the digest of the files that is_counted accepts; all of them resolve references. make:
    makes the form of a path and content."""
    sources = (Path(str(module.__file__)) for module in (code_tokens, code_forms))
    maker = make.__name__.encode() + text_of_sources(Path(__file__), *sources)
    forms = forms_of(installation, files, make, maker)
    resolver = Resolver(forms)
    lines = sorted(
        f"{_place(name)} {resolver.digest_of(form)}" for name, form in forms if is_counted(name)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _place(name: str) -> str:
    """Return the part of a path that counts: in labs, in solutions and among machines, where
    numalab finds files by their names, that folder and the name, with FOLDER between them for a
    template; elsewhere nothing. Rules of labs have "labs"."""
    top, file = name.split("/")[0], name.split("/")[-1]
    if top == "labs" and counts_for(name) == "verdict":
        return top
    if top in ("labs", "solutions"):
        return f"{top}/{FOLDER}/{file}" if _is_template(name) else f"{top}/{file}"
    return f"machines/{file}" if _is_machine(name) else ""


def _is_machine(name: str) -> bool:
    return name.startswith("common/machines/") and name.endswith(".toml")


def _measured(name: str, content: bytes) -> Form:
    """Return the form of those parts of a file that decide what is run, or of all of it where it
    can't be parsed."""
    if not _is_declaration(name) and not _is_machine(name):
        return form_of(name, content)
    try:
        table = tomllib.loads(content.decode())
    except ValueError:
        return form_of(name, content)
    if _is_machine(name):
        kept = {key: table[key] for key in table.keys() - set(_WORDS_OF_MACHINE)}
    else:
        kept = {key: table[key] for key in table.keys() - {*_WORDS_OF_LAB, "criterion"}}
        kept["criterion"] = sorted(set(_runs_of_criteria(table.get("criterion", []))))
        # Of [[lightspeed]] only the parts with a loop that is run; flops and reasons are printed.
        probed = [of.get("part") for of in table.get("lightspeed", []) if "none" not in of]
        kept["lightspeed"] = probed
        # This release's: what earlier ones gave is no reason to run anything.
        given = table.get("starting_code", {})
        if isinstance(given, dict) and given:
            kept["starting_code"] = {
                name: of[0] if isinstance(of, list) and of else of for name, of in given.items()
            }
    return form_of("kept.json", values_text(kept).encode())


def _runs_of_criteria(criteria: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield for each criterion what is run, as text; two with the same runs have the same text."""
    for criterion in criteria:
        run = {key: criterion[key] for key in _RUN_BY_CRITERION if key in criterion}
        if "at_least_of_lightspeed" in criterion:  # however much
            run["needs_probe"] = True
        yield values_text(run)


# ---- former digests ------------------------------------------------------------------------------


FORMER_DIGESTS = Path("grader", "src", "numalab", "grading", "former_digests.toml")


def known_as(installation: Installation, lab: str) -> tuple[str, ...]:
    """Return the digest by which a lab is measured now, and behind it the former ones that lead to
    it, directly or through others."""
    known = [measured_by(installation, lab)]
    rows = _rows(installation)
    for digest in known:  # which grows
        known += [old for old, new in rows if new == digest and old not in known]
    return tuple(known)


def _rows(installation: Installation) -> list[tuple[str, str]]:
    """Return pairs of an old and a new digest; none where this copy of numalab has no such file.
    Raises NumalabError for a row that is not two digests."""
    if not (installation.root / FORMER_DIGESTS).is_file():
        return []
    top = read_table(installation.root / FORMER_DIGESTS, NumalabError, None)
    rows = []
    for revision in top.values:
        table = top.table(revision, None)
        for lab in table.values:
            digests = table.texts(lab)
            if len(digests) != 2:
                table.fail("an old and a new digest are wanted", lab)
            rows.append((digests[0], digests[1]))
    return rows
