"""Take the files of one folder for a lab: those with the names in graded_names, or that clearly
stand for them. Texts are converted to what compilers and TOML readers need."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from numalab.course.intake.archives import archive_suffix
from numalab.course.intake.trees import Entry, Refused, folded, read_limited
from numalab.grading import explanation
from numalab.grading.variant_installations import TICKET
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import is_copy_name, is_probably_kernel, meant_by, not_graded_words
from numalab.untrusted.text_kinds import kind_of_text
from numalab.untrusted.visible import shown

# Files that students get with a lab, and that are left out without a note.
_HANDED_OUT = frozenset(
    {"readme.md", "cmakelists.txt", "lab.toml", "hints.md", "questions.toml", "driver.c",
     "phases.c", "test_driver.c", "explore.ipynb", "explore.c", "explore.toml", "first_said.json",
     "cells.json"}
)  # fmt: skip
# Answers to a case, which go with a lab's kernels, and predictions, which go with a variant's.
DIAGNOSIS, PREDICTIONS = "diagnose.toml", "predictions.toml"
# Files that are taken only along with others.
NOT_GRADED = frozenset({explanation.FILE, TICKET, DIAGNOSIS, PREDICTIONS})
_MOST_NAMED = 4
_ENCODINGS = {
    b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}  # fmt: skip

# Tells whether a file is starting code, given its lab, its name in the lab, its content and, for a
# variant, the ticket that says whose it is; None: there is no ticket.
IsStarting = Callable[[Lab, str, bytes, bytes | None], bool]


def never_starting(lab: Lab, name: str, content: bytes, ticket: bytes | None) -> bool:
    """Return False: the IsStarting for when there is no starting code to compare with."""
    del lab, name, content, ticket
    return False


@dataclass(frozen=True)
class Chosen:
    """What is taken of a student's files for one lab. files: contents by the lab's names; notes:
    sentences for the student on these and other files."""

    lab: Lab
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The kernels' languages; without a kernel the lab's first language."""
        found = tuple(
            language for language in self.lab.languages if KERNEL_FILES[language] in self.files
        )
        return found or self.lab.languages[:1]

    @property
    def digest(self) -> str:
        """SHA-256 of names and contents in order of names, each preceded by its length, in
        hexadecimal."""
        total = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            for part in (name.encode(), content):
                total.update(len(part).to_bytes(8, "big") + part)
        return total.hexdigest()

    def is_all_starting(self, is_starting: IsStarting, ticket: bytes | None) -> bool:
        """Tell whether all files that are graded are starting code. ticket: as for IsStarting."""
        graded = {name: of for name, of in self.files.items() if name not in NOT_GRADED}
        return all(is_starting(self.lab, name, of, ticket) for name, of in graded.items())


def kernels_of(lab: Lab) -> tuple[str, ...]:
    return tuple(KERNEL_FILES[language] for language in lab.languages)


def graded_names(lab: Lab) -> tuple[str, ...]:
    """Return the names of the files that are taken for a lab, kernels first and the explanation
    last."""
    own = (TICKET, PREDICTIONS) if lab.is_variant else (DIAGNOSIS,)
    declared = (*kernels_of(lab), *(file.name for file in lab.files))
    return tuple(dict.fromkeys((*declared, *own, explanation.FILE)))


def matches_name(name: str, names: Iterable[str]) -> bool:
    """Tell whether a file may be taken as one of these: it has that name, in whatever case, or that
    of a copy."""
    return any(folded(name) == folded(one) or is_copy_name(name, one) for one in names)


def join_names(names: Iterable[str]) -> str:
    """Join names, one or more, by "and", in order; of many only the first, and how many more."""
    first, *others = sorted(names)
    more = len(others) + 1 - _MOST_NAMED
    listed = " and ".join([first, *others[: _MOST_NAMED - 1]])
    return f"{listed} and {more} more" if more > 0 else listed


def list_some(names: Sequence[str]) -> str:
    """Join names by commas; of many only the first, and how many more."""
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


def describe_entry(entry: Entry) -> str:
    return shown(entry.path) + (f", which {entry.refused}" if entry.refused else "")


# ---- a file ----------------------------------------------------------------------------------


def content_of(entry: Entry) -> tuple[bytes, tuple[str, ...]]:
    """Return a file's text, with changes that compilers and TOML readers need, such as of UTF-16 or
    of Windows's line ends; and sentences on what was changed or is odd in it. Raises Refused for a
    file that is not taken."""
    name = shown(entry.name)
    if entry.refused or entry.opener is None:
        raise Refused(f"{name} {entry.refused or 'is no plain file'}")
    with entry.opener() as file:
        data = read_limited(file, FILE_BYTES, entry.name)
    is_kernel = is_probably_kernel(entry.name, "c") or is_probably_kernel(entry.name, "fortran")
    kind = kind_of_text(data) if is_kernel or entry.name in KERNEL_FILES.values() else None
    if kind is not None and not kind.is_text:
        raise Refused(f"{name} {kind.why}")
    changes = []
    mark = next((mark for mark in _ENCODINGS if data.startswith(mark)), None)
    if mark is not None:
        try:
            data = data.decode(_ENCODINGS[mark]).encode()
        except UnicodeError as error:
            raise Refused(f"{name} is not a text file") from error
        changes.append(f"was in {_ENCODINGS[mark].upper()} and is UTF-8 now")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        changes.append("began with a byte order mark, which was taken out")
    if b"\0" in data:
        raise Refused(f"{name} {kind.why if kind is not None else 'is not a text file'}")
    if b"\r\n" in data:
        data = data.replace(b"\r\n", b"\n")
        changes.append("had the line ends of Windows, which were changed")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
        changes.append("had the line ends of old Macs, which were changed")
    if data.endswith(b"\x1a"):
        data = data.rstrip(b"\x1a")
        changes.append("had DOS's mark of a file's end (Ctrl-Z), which was taken out")
    if kind is not None and kind.is_marked:
        changes.append(kind.why)
    return data, tuple(f"{name} {change}." for change in changes)


def ticket_of(files: Sequence[Entry]) -> bytes | None:
    """Return the ticket among a folder's files, which says whose variant they are; None if there is
    none, or it is refused."""
    entry = next((one for one in files if folded(one.name) == folded(TICKET)), None)
    try:
        return None if entry is None else content_of(entry)[0]
    except Refused:
        return None


def _similar_names(required: str, files: Sequence[Entry]) -> list[str]:
    """Return names of files that may be meant for the required one: they are like it, or those of
    probable kernels in its language (is_probably_kernel), or misspelt."""
    stem, _, suffix = required.rpartition(".")
    like = re.compile(rf"{re.escape(stem)}[\s_-]*(\(?\d+\)?)?\.{re.escape(suffix)}(\.txt)?", re.I)
    names = [entry.name for entry in files if entry.name != required]
    found = [name for name in names if like.fullmatch(name)]
    if not found and required in KERNEL_FILES.values():
        language = next(language for language, file in KERNEL_FILES.items() if file == required)
        found = [
            name
            for name in names
            if is_probably_kernel(name, language) and name.casefold() not in _HANDED_OUT
        ]
    return found or difflib.get_close_matches(required, names, n=1, cutoff=0.85)


def suggest_files(
    required: str, files: Sequence[Entry], but: Iterable[str] = ()
) -> tuple[str, list[str]]:
    """Return a sentence on files that may be meant for the required one, empty if there are none;
    and their names. but: names that are not suggested."""
    near = [name for name in _similar_names(required, files) if name not in but]
    if not near:
        return "", []
    others = [text for name in near if (text := not_graded_words(name))]
    if others:
        return f"{list_some(others)}.", near
    return f"{list_some([*map(shown, near)])} was found; did you mean {required}?", near


# ---- which file stands for a name --------------------------------------------------------------


@dataclass
class _Folder:
    """A folder from which files are taken.

    Attributes:
        files: the entries directly in it, except folders.
        ticket: as for IsStarting.
        taken: contents taken so far, by the lab's names.
        sentences: sentences for the student on the folder's files.
        mentioned: names of files that a sentence is about, or that are taken.
    """

    lab: Lab
    files: Sequence[Entry]
    is_starting: IsStarting
    ticket: bytes | None
    taken: dict[str, bytes] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    mentioned: set[str] = field(default_factory=set)

    def _read(self, entries: Sequence[Entry]) -> dict[Entry, tuple[bytes, tuple[str, ...]]]:
        """Return the texts that can be read, with sentences on each; why others can't be is added
        to `sentences`."""
        found = {}
        for entry in entries:
            try:
                found[entry] = content_of(entry)
            except Refused as error:
                self.sentences.append(f"{error}; it was not taken.")
        return found

    def _is_starting(self, name: str, content: bytes) -> bool:
        return self.is_starting(self.lab, name, content, self.ticket)

    def take(self, name: str) -> None:
        """Take the file of this name, or the copy that stands for it, if it is clear which."""
        exact = [e for e in self.files if e.name == name]
        copies = [e for e in self.files if is_copy_name(e.name, name)]
        entries = [*exact, *copies]
        if not entries:
            said, near = suggest_files(name, self.files, graded_names(self.lab))
            self.mentioned.update(near)
            self.sentences += [said] if said else []
            return
        self.mentioned.update(entry.name for entry in entries)
        read = self._read(entries)
        if not read:
            return
        contents = [(entry.name, content) for entry, (content, _) in read.items()]
        meant = meant_by(name, contents, partial(self._is_starting, name))
        if meant is None:
            names = join_names(shown(entry.name) for entry in entries)
            self.sentences.append(f"{name} is there more than once ({names}); hand in one.")
            return
        entry = list(read)[meant]
        self.taken[name], changes = read[entry]
        if entry.name != name:
            self.sentences.append(f"{shown(entry.name)} is taken as {name}.")
        self.sentences += changes
        left = [shown(one.name) for one in entries if one.name not in (entry.name, name)]
        if exact and entry.name != name:
            self.sentences.append(f"{name} was left out: it is the starting code.")
        elif left:
            self.sentences.append(f"Left out, beside {shown(entry.name)}: {list_some(left)}.")


def take_files(
    lab: Lab, files: Sequence[Entry], is_starting: IsStarting, ticket: bytes | None
) -> tuple[Chosen | None, list[str]]:
    """Return what is taken of a folder's files, None if nothing is graded of it; and its notes, or
    why nothing is. ticket: as for IsStarting."""
    folder = _Folder(lab, files, is_starting, ticket)
    for name in graded_names(lab):
        folder.take(name)
    taken, sentences, told = folder.taken, list(dict.fromkeys(folder.sentences)), folder.mentioned
    kernels = kernels_of(lab)
    if not any(name in taken or name in " ".join(sentences) for name in kernels):
        known = {*_HANDED_OUT, *told, *graded_names(lab)}
        like = [e.name for e in files if e.name.casefold().startswith("kernel")]
        others = list_some([shown(name) for name in like if name not in known])
        seen = f"; found: {others}" if others else ""
        sentences.append(f"{' or '.join(kernels)} is missing{seen}.")
    archives = [e.name for e in files if archive_suffix(e.name) and e.name not in told]
    if archives:
        sentences.append(f"An archive inside was not opened: {list_some([*map(shown, archives)])}.")
    if not taken.keys() - NOT_GRADED:
        alone = sorted({DIAGNOSIS, PREDICTIONS} & taken.keys())
        sentences += [f"{name} counts beside what is graded, and not alone." for name in alone]
        return None, sentences
    beside = [file.name for file in lab.files if file.name not in taken]
    if beside:
        sentences.append(f"Missing: {list_some(beside)}.")
    kits = {*_HANDED_OUT, lab.contract.casefold(), *(n.casefold() for n in archives)}
    left_out = [e.name for e in files if e.name not in told and e.name.casefold() not in kits]
    if left_out:
        sentences.append(f"Not taken, as it is not graded: {list_some([*map(shown, left_out)])}.")
    return Chosen(lab, taken, tuple(sentences)), sentences
