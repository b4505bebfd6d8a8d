"""Choose which of a student's files are taken, and for which lab.

Only files of a lab are taken (taking.graded_names). They lie in a folder NN_name/, at any depth, or
outside of one if it is clear which lab they are of. Of several places of a lab, those with nothing
but starting code are left out if another has more. If the others differ, nothing is taken, and the
student gets a sentence that asks for one of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.course.intake.archives import archive_suffix, strip_suffix
from numalab.course.intake.taking import (
    Chosen,
    IsStarting,
    content_of,
    describe_entry,
    graded_names,
    join_names,
    kernels_of,
    list_some,
    matches_name,
    never_starting,
    suggest_files,
    take_files,
    ticket_of,
)
from numalab.course.intake.trees import MADE_FOLDERS, Entry, Refused, folded, is_ignored, letters
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.labs.variants import variant_name
from numalab.untrusted.visible import shown

SOLUTIONS = "solutions"
# Folders in a copy of numalab with files that are no student's; the last two in an unpacked one.
_NUMALAB_FOLDERS = frozenset({"variant", "wrong", "starting_code", "earlier_release"})
# Folders next to labs/ in a copy of numalab.
_TOP_FOLDERS = frozenset({"common", "grader", "slides"})
_NUMBERED = re.compile(r"(\d\d)_\w+")
# The most folders whose kernels are read to find out which lab they are of.
_MAX_INSPECTED = 32

LabPath = tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """A folder that may have files of a lab.

    Attributes:
        rank: 0: its name is the lab's, or like it; 1: it lies below such a folder, or its longer
            name contains the lab's; 2: another folder.
    """

    path: LabPath
    lab: str
    rank: int

    @property
    def order(self) -> tuple[bool, int, bool, int, LabPath]:
        """The sort key; of places with the same files the first is taken. solutions/ comes last,
        then rank decides, then labs/NN_name/ in a copy of numalab comes first, then the least
        deep."""
        is_kits = len(self.path) > 1 and self.path[-2] == "labs"
        return SOLUTIONS in self.path, self.rank, not is_kits, len(self.path), self.path

    @property
    def shown(self) -> str:
        return shown("/".join(self.path) + "/") if self.path else "./"


def choose_files(
    entries: Iterable[Entry],
    labs: Mapping[str, Lab],
    hint: str | None = None,
    is_starting: IsStarting = never_starting,
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    """Choose what is taken of one student's files.

    Args:
        hint: the lab that the collection is about; None: its name names none.
        is_starting: tells whether a file is starting code.

    Returns:
        What is taken for each lab, and a text for each lab with places of which nothing is taken,
        for files of an unknown lab, or if no file of a lab is found. At least one of the two has
        something.
    """
    files = [
        entry
        for entry in entries
        if entry.kind != "folder"
        and not is_ignored(entry.path)
        and not any(part.casefold() in MADE_FOLDERS for part in entry.path[:-1])
    ]
    in_place: dict[LabPath, list[Entry]] = {}
    for entry in files:
        in_place.setdefault(entry.path[:-1], []).append(entry)
    places, problems = _places(in_place, labs, hint)
    chosen: list[Chosen] = []
    used: list[LabPath] = []
    for name, of_lab in sorted(places.items()):
        taken, told, sentences = _choose_place(labs[name], of_lab, in_place, is_starting)
        used += told
        if taken is None:
            problems.append(f"{name}: " + " ".join(sentences))
        else:
            chosen.append(taken)
    if not chosen and not problems:
        problems.append(_nothing(files, labs))
    elsewhere = _unused_kernels(files, {*used, *_numalab_places(in_place)}, labs)
    if chosen and elsewhere:
        note = f"Left out, beside what was taken: {list_some(elsewhere)}."
        chosen[0] = replace(chosen[0], notes=(*chosen[0].notes, note))
    return tuple(chosen), tuple(problems)


# ---- which folder is which lab's ---------------------------------------------------------------


def lab_of_folder(name: str, labs: Mapping[str, Lab]) -> str | None:
    """Return the name of the lab that a folder or an archive is named after: 01_first_touch, or a
    similar name such as 01, Lab 1, first-touch, lab01_first_touch. None: it has no such name."""
    text = letters(strip_suffix(name)).removeprefix("lab")
    for lab in labs.values():
        title = letters(lab.name.removeprefix(lab.number))
        number = lab.number.lstrip("0") or "0"
        if text in {lab.number, number, title, lab.number + title, number + title}:
            return lab.name
    return None


def lab_in_name(text: str, labs: Mapping[str, Lab]) -> str | None:
    """Return the only lab whose name, without its number, is part of a longer name, such as that of
    a downloaded file; None if no lab's is, or several are."""
    inside = letters(text)
    found = [
        lab.name for lab in labs.values() if letters(lab.name.removeprefix(lab.number)) in inside
    ]
    # A variant's name contains its lab's, and counts in its place.
    found = [name for name in found if variant_name(name) not in found]
    return found[0] if len(found) == 1 else None


def _numbered(part: str) -> str:
    """Return the number of a folder or an archive named NN_something; empty for another name."""
    found = _NUMBERED.fullmatch(strip_suffix(part))
    return found[1] if found else ""


def _lab_of_place(path: LabPath, labs: Mapping[str, Lab]) -> tuple[str, int] | None:
    """Return the lab that the innermost folder of a path that has a lab's name is named after, and
    the rank; None if no folder has one."""
    for up, part in enumerate(reversed(path)):
        lab = lab_of_folder(part, labs)
        if lab is not None:
            return lab, min(up, 1)
        lab = lab_in_name(part, labs)
        if lab is not None and _numbered(part) == labs[lab].number:  # 01_first_touch_final
            return lab, 1
    return None


def _numalab_places(files_by_folder: Iterable[LabPath]) -> frozenset[LabPath]:
    """Return the folders with files that are no student's: those in a folder with one of the names
    _NUMALAB_FOLDERS, and in a copy of numalab those next to labs/, such as its tests."""
    paths = list(files_by_folder)
    roots = {path[: path.index("labs")] for path in paths if "labs" in path}
    return frozenset(
        path
        for path in paths
        if _NUMALAB_FOLDERS & set(path)
        or any(part in _TOP_FOLDERS and path[:at] in roots for at, part in enumerate(path))
    )


def _places(
    files_by_folder: Mapping[LabPath, Sequence[Entry]], labs: Mapping[str, Lab], hint: str | None
) -> tuple[dict[str, list[_Place]], list[str]]:
    """Return the places of each lab's files, by lab; and a sentence if it is not clear which lab
    files are of and no other files are in a lab's folder."""
    known = {name for lab in labs.values() for name in graded_names(lab)}
    by_lab: dict[str, list[_Place]] = {}
    unclear: list[LabPath] = []
    looked_into = 0
    kits_own = _numalab_places(files_by_folder)
    for path, inside in files_by_folder.items():
        if path in kits_own:
            continue
        has_known = any(matches_name(entry.name, known) for entry in inside)
        of_name = _lab_of_place(path, labs)
        if of_name is not None:
            lab, rank = of_name
            if not rank or has_known:
                by_lab.setdefault(lab, []).append(_Place(path, lab, rank))
        # A folder of a lab that is not graded now is no folder around a graded lab's files.
        elif has_known and not any(map(_numbered, path)):
            looked_into += 1
            found = _lab_of_files(inside, labs, hint) if looked_into <= _MAX_INSPECTED else None
            if found is None:
                unclear.append(path)
            else:
                by_lab.setdefault(found, []).append(_Place(path, found, 2))
    problems = []
    if unclear and not any(place.rank < 2 for found in by_lab.values() for place in found):
        refused = [why for path in unclear for why in _refused(files_by_folder[path])]
        problems.append(
            f"{list_some(refused)}."
            if refused
            else "It is not clear which lab the files are of: put them into a folder that is named "
            f"as the lab is, such as {next(iter(labs), 'NN_name')}/."
        )
    return by_lab, problems


def _refused(files: Sequence[Entry]) -> Iterator[str]:
    """Yield why kernels can't be read, and which other entries are refused."""
    for entry in files:
        if entry.refused:
            yield f"{shown(entry.name)} {entry.refused}; hand in plain files"
        elif matches_name(entry.name, KERNEL_FILES.values()):
            try:
                content_of(entry)
            except Refused as error:
                yield str(error)


def _lab_of_files(files: Sequence[Entry], labs: Mapping[str, Lab], hint: str | None) -> str | None:
    """Return the lab of files that are in no lab's folder: the one that the collection is about,
    the only one that is graded and no variant, or the only one whose contract the kernels name or
    fulfil; None if it is not clear. It is a variant only if the collection is about one: others
    need a folder of their own."""
    if hint is not None:
        return hint
    labs = {name: lab for name, lab in labs.items() if not lab.is_variant}
    if len(labs) == 1:
        return next(iter(labs))
    text = ""
    # One of several with the same name is enough, since they are refused anyway.
    for entry in {folded(entry.name): entry for entry in files}.values():
        if matches_name(entry.name, KERNEL_FILES.values()):
            try:
                text += content_of(entry)[0].decode("utf-8", "replace")
            except Refused:
                continue
    words = set(re.findall(r"\w+", text))
    by_contract = [lab.name for lab in labs.values() if lab.contract in text]
    by_functions = [lab.name for lab in labs.values() if words.issuperset(lab.functions)]
    for names in (by_contract, by_functions):
        if len(names) == 1:
            return names[0]
    return None


# ---- which place of a lab ----------------------------------------------------------------------


def _choose_place(
    lab: Lab,
    places: Sequence[_Place],
    files_by_folder: Mapping[LabPath, Sequence[Entry]],
    is_starting: IsStarting,
) -> tuple[Chosen | None, list[LabPath], list[str]]:
    """Choose the place from which a lab's files are taken.

    Returns:
        What is taken, or None; the places from which files can be taken, if there are none all
        places; why nothing is taken, which is empty if something is.
    """
    ordered = sorted(places, key=lambda place: place.order)
    own = [place for place in ordered if SOLUTIONS not in place.path] or ordered
    of_place = {place: ticket_of(files_by_folder[place.path]) for place in own if lab.is_variant}
    # A kernel that lies next to the variant's folder may have its ticket in that folder.
    anyones = next((ticket for ticket in of_place.values() if ticket is not None), None)
    tickets = {place: of_place.get(place) or anyones for place in own}
    taken: dict[_Place, Chosen] = {}
    why: list[str] = []
    for place in own:
        found, sentences = take_files(lab, files_by_folder[place.path], is_starting, tickets[place])
        if found is not None:
            taken[place] = found
        elif not why:
            why = sentences
    if not taken:
        return None, [place.path for place in places], why
    used = [place.path for place in taken]
    changed = [
        place
        for place, one in taken.items()
        if not one.is_all_starting(is_starting, tickets[place])
    ]
    meant = changed or list(taken)
    if len({taken[place].digest for place in changed}) > 1:
        # For each text the place from which it would be taken.
        by_digest = {taken[place].digest: place for place in reversed(changed)}
        listed = join_names(place.shown for place in by_digest.values())
        why = [f"{listed} both hold files of it, and they differ; hand in one of them."]
        return None, used, why
    one = taken[meant[0]]
    starting = [place.shown for place in taken if changed and place not in changed]
    if starting:
        note = (
            f"Taken from {meant[0].shown}; left out, as it is the starting code: "
            f"{list_some(starting)}."
        )
        one = replace(one, notes=(*one.notes, note))
    return one, used, []


def _unused_kernels(
    files: Sequence[Entry], used: Collection[LabPath], labs: Mapping[str, Lab]
) -> list[str]:
    """Return descriptions of kernels outside of the used places, of solutions/ and of folders of
    labs that are not graded now."""
    kernels = {name for lab in labs.values() for name in kernels_of(lab)}
    numbers = {lab.number for lab in labs.values()}
    return [
        describe_entry(entry)
        for entry in files
        if matches_name(entry.name, kernels)
        and entry.path[:-1] not in used
        and SOLUTIONS not in entry.path
        and all(_numbered(part) in {"", *numbers} for part in entry.path[:-1])
    ]


def _nothing(files: Sequence[Entry], labs: Mapping[str, Lab]) -> str:
    name, lab = next(iter(labs.items()))
    kernels = kernels_of(lab)
    expected = f"Expected: {name}/ with {' or '.join(kernels)} in it"
    if not files:
        return f"It is empty. {expected}."
    for kernel in kernels:
        said, _ = suggest_files(kernel, files)
        if said:
            return f"{said} {expected}."
    inside = [shown(entry.path) for entry in files if archive_suffix(entry.name)]
    if inside:
        return f"An archive inside was not opened: {list_some(inside)}. Unpack it. {expected}."
    return (
        f"None of the files that are graded was found. {expected}; "
        f"found: {list_some([describe_entry(entry) for entry in files])}."
    )
