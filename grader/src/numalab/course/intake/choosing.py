"""Which of a student's files are taken, and for which lab.

Only the files that a lab declares: its kernels and what its lab.toml names beside them. They lie
in a folder NN_name/, at any depth, or without one where it is clear which lab they are of.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.course.intake.archives import archive_suffix
from numalab.course.intake.trees import (
    MADE_FOLDERS,
    Entry,
    Refused,
    folded,
    is_ignored,
    read_limited,
)
from numalab.grading import explanation
from numalab.grading.variant_kits import TICKET
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.variants import variant_name
from numalab.strangers.visible import shown

# Of the handout, in a folder that was handed in whole: left out without a word.
_HANDED_OUT = frozenset(
    {"readme.md", "cmakelists.txt", "lab.toml", "hints.md", "questions.toml", "driver.c",
     "phases.c", "test_driver.c", "explore.ipynb", "explore.c", "explore.toml", "first_said.json"}
)  # fmt: skip
# Beside a lab's kernels and a variant's: answers to a case, and what was predicted.
DIAGNOSIS, PREDICTIONS = "diagnose.toml", "predictions.toml"
NOT_GRADED = frozenset({explanation.FILE, TICKET, DIAGNOSIS, PREDICTIONS})  # by themselves
SOLUTIONS = "solutions"
_NUMBERED = re.compile(r"\d\d_\w+")
_MOST_NAMED = 4
# Folders whose kernels are read to find out which lab's they are.
_MOST_LOOKED_INTO = 32


@dataclass(frozen=True)
class Chosen:
    """What is taken of a student's files for one lab. files: contents by name; notes: what was
    left out or changed, one sentence each."""

    lab: Lab
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """Of the kernels; where there is none, the lab's first language, in which what else was
        handed in is graded."""
        found = tuple(
            language for language in self.lab.languages if KERNEL_FILES[language] in self.files
        )
        return found or self.lab.languages[:1]

    @property
    def digest(self) -> str:
        """SHA-256 of names and contents, each with its length before it."""
        total = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            for part in (name.encode(), content):
                total.update(len(part).to_bytes(8, "big") + part)
        return total.hexdigest()


def wanted_names(lab: Lab) -> tuple[str, ...]:
    """The files that are taken for a lab, kernels first and what is said of them last."""
    kernels = [KERNEL_FILES[language] for language in lab.languages]
    own = (TICKET, PREDICTIONS) if lab.is_variant else (DIAGNOSIS,)
    declared = (*kernels, *(file.name for file in lab.files))
    return tuple(dict.fromkeys((*declared, *own, explanation.FILE)))


def choose_files(
    entries: Iterable[Entry], labs: Mapping[str, Lab], hint: str | None = None
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    """What is taken of the files of one student, and a sentence for each thing that can't be.
    hint: the lab that the delivery is of, as far as its name tells."""
    files = [
        entry
        for entry in entries
        if entry.kind != "folder"
        and not is_ignored(entry.path)
        and not any(part.casefold() in MADE_FOLDERS for part in entry.path[:-1])
    ]
    places, problems = _places(files, labs, hint)
    chosen = []
    for name, place in places.items():
        taken, sentences = _take(labs[name], [e for e in files if e.path[:-1] == place])
        if taken is None:
            problems.append(f"{name}: " + " ".join(sentences))
        else:
            chosen.append(taken)
    if not chosen and not problems:
        problems.append(_nothing(files, labs))
    elsewhere = _elsewhere(files, [*places.values()], labs)
    if chosen and elsewhere:
        note = f"Left out, as it does not lie in a lab's folder: {_some(elsewhere)}."
        chosen[0] = replace(chosen[0], notes=(*chosen[0].notes, note))
    return tuple(chosen), tuple(problems)


# ---- which folder is which lab's ---------------------------------------------------------------


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


def lab_of_folder(name: str, labs: Mapping[str, Lab]) -> str | None:
    """The lab that a folder is named after: 01_first_touch, and what comes near it: 01, Lab 1,
    first-touch, lab01_first_touch."""
    text = _letters(name).removeprefix("lab")
    for lab in labs.values():
        title = _letters(lab.name.removeprefix(lab.number))
        number = lab.number.lstrip("0") or "0"
        if text in {lab.number, number, title, lab.number + title, number + title}:
            return lab.name
    return None


def lab_in_name(text: str, labs: Mapping[str, Lab]) -> str | None:
    """The one lab whose name is part of a longer one, such as a downloaded file's."""
    letters = _letters(text)
    found = [
        lab.name
        for lab in labs.values()
        if _letters(lab.name) in letters or _letters(lab.name.removeprefix(lab.number)) in letters
    ]
    # Of a lab and its variant the one with the longer name.
    found = [name for name in found if variant_name(name) not in found]
    return found[0] if len(found) == 1 else None


LabPath = tuple[str, ...]


def _and(names: Iterable[str]) -> str:
    """All of a few, in order; of many the first, and how many more."""
    first, *others = sorted(names)
    more = len(others) + 1 - _MOST_NAMED
    listed = " and ".join([first, *others[: _MOST_NAMED - 1]])
    return f"{listed} and {more} more" if more > 0 else listed


def _listed(places: Iterable[LabPath]) -> str:
    return _and(shown("/".join(place) + "/") if place else "./" for place in places)


def _preferred(places: Sequence[LabPath]) -> tuple[LabPath, ...]:
    """Of places that seem to hold the same lab the one that is meant: the least deep, and in a
    copy of the kit labs/NN_name/ and not its solutions. More than one: that is not clear."""
    own = [place for place in places if SOLUTIONS not in place] or places
    least = min(map(len, own))
    top = [place for place in own if len(place) == least]
    kits = [place for place in top if len(place) > 1 and place[-2] == "labs"]
    return tuple(kits or top)


def _places(
    files: Sequence[Entry], labs: Mapping[str, Lab], hint: str | None
) -> tuple[dict[str, LabPath], list[str]]:
    """Where each lab's files are, by lab."""
    known = {folded(name) for lab in labs.values() for name in wanted_names(lab)}
    in_place: dict[LabPath, list[Entry]] = {}
    for entry in files:
        in_place.setdefault(entry.path[:-1], []).append(entry)
    by_lab: dict[str, list[LabPath]] = {}
    for place in in_place:
        lab = lab_of_folder(place[-1], labs) if place else None
        if lab is not None:
            by_lab.setdefault(lab, []).append(place)
    if not by_lab:
        with_known = [
            place
            for place, inside in in_place.items()
            # The folder of a lab that is not asked for just now is not a wrapping one.
            if any(folded(entry.name) in known for entry in inside)
            and not any(map(_NUMBERED.fullmatch, place))
        ]
        for number, place in enumerate(with_known):
            is_read = number < _MOST_LOOKED_INTO
            lab = _lab_of_files(in_place[place], labs, hint) if is_read else None
            by_lab.setdefault(lab or "", []).append(place)
    problems = []
    unclear = by_lab.pop("", [])
    refused = [
        f"{shown(e.name)} {e.refused}" for place in unclear for e in in_place[place] if e.refused
    ]
    if refused:
        problems.append(f"{_some(refused)}; hand in plain files.")
    elif unclear:
        problems.append(
            "It is not clear which lab the files are of: put them into a folder that is named "
            f"as the lab is, such as {next(iter(labs), 'NN_name')}/."
        )
    found = {}
    for lab, places in by_lab.items():
        best = _preferred(places)
        if len(best) > 1:
            problems.append(f"{lab}: {_listed(best)} both hold files of it; hand in one of them.")
        else:
            found[lab] = best[0]
    return dict(sorted(found.items())), problems


def _lab_of_files(files: Sequence[Entry], labs: Mapping[str, Lab], hint: str | None) -> str | None:
    """The lab of files that lie in no lab's folder: the only one in question, the one that the
    delivery is of, or the one whose contract the kernels name or fulfil. Variants lie in a folder
    of theirs, which says whose they are."""
    labs = {name: lab for name, lab in labs.items() if not lab.is_variant}
    if len(labs) == 1:
        return next(iter(labs))
    if hint is not None:
        return hint
    text = ""
    # Of several with the same name one: they are refused anyway.
    for entry in {folded(entry.name): entry for entry in files}.values():
        if folded(entry.name) in KERNEL_FILES.values():
            try:
                text += _content(entry)[0].decode("utf-8", "replace")
            except Refused:
                continue
    words = set(re.findall(r"\w+", text))
    by_contract = [lab.name for lab in labs.values() if lab.contract in text]
    by_functions = [lab.name for lab in labs.values() if words.issuperset(lab.functions)]
    for names in (by_contract, by_functions):
        if len(names) == 1:
            return names[0]
    return None


def _elsewhere(
    files: Sequence[Entry], places: Sequence[LabPath], labs: Mapping[str, Lab]
) -> list[str]:
    """Kernels in other folders than those that are taken, and than other labs'."""
    kernels = {KERNEL_FILES[language] for lab in labs.values() for language in lab.languages}
    return [
        _with_reason(entry)
        for entry in files
        if entry.name in kernels
        and entry.path[:-1] not in places
        and not any(part == SOLUTIONS or _NUMBERED.fullmatch(part) for part in entry.path[:-1])
    ]


def _nothing(files: Sequence[Entry], labs: Mapping[str, Lab]) -> str:
    name, lab = next(iter(labs.items()))
    kernels = [KERNEL_FILES[language] for language in lab.languages]
    expected = f"Expected: {name}/ with {' or '.join(kernels)} in it"
    if not files:
        return f"It is empty. {expected}."
    for kernel in kernels:
        near = _near(kernel, files)
        if near:
            return f"{_some([*map(shown, near)])} was found; did you mean {kernel}? {expected}."
    return (
        f"None of the files that are graded was found. {expected}; "
        f"found: {_some([_with_reason(entry) for entry in files])}."
    )


def _with_reason(entry: Entry) -> str:
    return shown(entry.path) + (f", which {entry.refused}" if entry.refused else "")


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


# ---- the files of one lab ------------------------------------------------------------------


def _content(entry: Entry) -> tuple[bytes, tuple[str, ...]]:
    """A file's text as compilers and TOML readers take it, and what was changed. Raises
    Refused."""
    if entry.refused or entry.open is None:
        raise Refused(f"{shown(entry.name)} {entry.refused or 'is no plain file'}")
    with entry.open() as file:
        data = read_limited(file, FILE_BYTES, entry.name)
    changes = []
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            try:
                data = data.decode(encoding).encode()
            except UnicodeError as error:
                raise Refused(f"{entry.name} is not a text file") from error
            changes.append("was in UTF-16 and is UTF-8 now")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        changes.append("began with a byte order mark, which was taken out")
    if b"\0" in data:
        raise Refused(f"{entry.name} is not a text file")
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
        changes.append("had the line ends of Windows, which were changed")
    return data, tuple(f"{entry.name} {change}." for change in changes)


def _near(wanted: str, files: Sequence[Entry]) -> list[str]:
    """Names that may have been meant to be the wanted one: in other case, with what browsers
    and course systems add to a second one ("kernel (1).c", "kernel-1.c"), or misspelt."""
    stem, _, suffix = wanted.rpartition(".")
    like = re.compile(rf"{re.escape(stem)}[\s_-]*(\(?\d+\)?)?\.{re.escape(suffix)}(\.txt)?", re.I)
    names = [entry.name for entry in files if entry.name != wanted]
    found = [name for name in names if like.fullmatch(name)]
    if not found and stem == "kernel":
        ends = {"c": (".c", ".cc", ".cpp"), "f90": (".f90", ".f", ".f95", ".f03", ".f08", ".for")}
        found = [
            name
            for name in names
            if name.casefold().endswith(ends.get(suffix, ())) and name not in _HANDED_OUT
        ]
    return found or difflib.get_close_matches(wanted, names, n=1, cutoff=0.85)


def _take(lab: Lab, files: Sequence[Entry]) -> tuple[Chosen | None, list[str]]:
    """What is taken of the files of a folder; None, and why, where that is nothing."""
    wanted = wanted_names(lab)
    taken: dict[str, bytes] = {}
    sentences: list[str] = []
    told: set[str] = set()
    for name in wanted:
        same = [entry for entry in files if folded(entry.name) == folded(name)]
        told.update(entry.name for entry in same)
        if len(same) > 1:
            names = _and(shown(entry.name) for entry in same)
            sentences.append(f"{name} is there more than once ({names}); hand in one.")
        elif same and same[0].name == name:
            try:
                taken[name], changes = _content(same[0])
                sentences += changes
            except Refused as error:
                sentences.append(f"{error}; it was not taken.")
        else:
            near = [shown(n) for n in _near(name, files) if n not in wanted]
            told.update(near)
            if near:
                sentences.append(f"{_some(near)} was found; did you mean {name}?")
    kernels = [KERNEL_FILES[language] for language in lab.languages]
    if not any(name in taken or name in " ".join(sentences) for name in kernels):
        sentences.append(f"{' or '.join(kernels)} is missing.")
    archives = [e.name for e in files if archive_suffix(e.name) and e.name not in told]
    if archives:
        sentences.append(f"An archive inside was not opened: {_some([*map(shown, archives)])}.")
    if not taken.keys() - NOT_GRADED:
        alone = sorted({DIAGNOSIS, PREDICTIONS} & taken.keys())
        sentences += [f"{name} counts beside what is graded, and not alone." for name in alone]
        return None, sentences
    beside = [file.name for file in lab.files if file.name not in taken]
    if beside:
        sentences.append(f"Missing: {_some(beside)}.")
    kits = {*_HANDED_OUT, lab.contract.casefold(), *(n.casefold() for n in archives)}
    left_out = [e.name for e in files if e.name not in told and e.name.casefold() not in kits]
    if left_out:
        sentences.append(f"Not taken, as it is not graded: {_some([*map(shown, left_out)])}.")
    return Chosen(lab, taken, tuple(sentences)), sentences
