"""The *form* of a file: its code without prose and layout.

Python counts by its syntax tree without docstrings; C, Fortran, CMake and shell scripts by their
words without comments and blanks; placement files by their lines; TOML and JSON by their values;
other files, and those that can't be parsed, byte for byte. Forms are kept in the build folder, so
that unchanged files need not be parsed again.

Names of other files (an include, an import, a source in a CMakeLists.txt) are separated as
*references*, so that a Resolver can replace them by what those files say, whatever their paths.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from numalab.files import read_json, write_json
from numalab.installation import Installation
from numalab.labs.code_tokens import c_tokens, decode_source, fortran_tokens

_CMAKE = re.compile(
    r"#\[(=*)\[.*?\]\1\]|#[^\n]*"  # comments
    r"|(?P<word>[()]|\[(?P<level>=*)\[.*?\](?P=level)\]|(?:\"(?:\\.|[^\"\\])*\"?|\\.|[^\s\"\\()#])+)",
    re.S,
)
_SHELL = re.compile(
    r"#[^\n]*|(?P<word>\n|(?:\"(?:\\.|[^\"\\])*\"?|'[^']*'?|\\.|[^\s\"'\\#]|(?<=\S)#)+)", re.S
)
_INCLUDE = re.compile(r'#[ \t]*include[ \t]*"([^"\n]*)"')
_SOURCE = re.compile(r"(?:.*\})?/?([\w./+-]*\w\.(?:c|h|f90|py|cmake))")
_REFERENCES = "\0references"  # in a form, in place of a run of them
_SEPARATOR = "\0\0"


@dataclass(frozen=True)
class Form:
    """The form of a file."""

    digest: str  # SHA-256 of its code without the references
    # Runs of adjacent names of files, whose order does not matter; imports of Python as
    # "package.module:name:alias".
    references: tuple[tuple[str, ...], ...] = ()


def form_of(name: str, content: bytes) -> Form:
    """Return the form of a file. Its name tells the language, or a first line that begins with
    #!/bin/sh."""
    path = PurePosixPath(name)
    make = _FORMS.get(path.name) or _FORMS.get(path.suffix)
    if make is None and content.startswith(b"#!/bin/sh"):
        make = _shell_words
    try:
        words = None if make is None else list(make(content))
    except (ValueError, SyntaxError, RecursionError):
        words = None
    if words is None:
        return Form(hashlib.sha256(content).hexdigest())
    text: list[str] = []
    runs: list[tuple[str, ...]] = []
    for is_reference, run in itertools.groupby(words, lambda word: isinstance(word, _Reference)):
        if is_reference:
            text.append(_REFERENCES)
            runs.append(tuple(sorted(set(run))))
        else:
            text += run
    joined = _SEPARATOR.join(text).encode("utf-8", "surrogatepass")
    return Form(hashlib.sha256(joined).hexdigest(), tuple(runs))


class _Reference(str):
    __slots__ = ()


# ---- languages ---------------------------------------------------------------------------


def _c_words(content: bytes) -> Iterator[str]:
    is_included = False
    for token in c_tokens(decode_source(content)):
        include = _INCLUDE.fullmatch(token)
        if include:
            yield _Reference(include[1])
        elif not (is_included and token == "\n"):
            yield re.sub(r"\A#\s*define\s+", "#define ", token)
        is_included = include is not None


def _cmake_words(content: bytes) -> Iterator[str]:
    for match in _CMAKE.finditer(decode_source(content)):
        word = match["word"]
        if word is not None:
            yield _Reference(word) if _SOURCE.fullmatch(word) else word


def _shell_words(content: bytes) -> Iterator[str]:
    last = "\n"
    for match in _SHELL.finditer(decode_source(content).replace("\\\n", " ")):
        word = match["word"]
        if word is not None and (last, word) != ("\n", "\n"):
            yield word
            last = word


def _placement_words(content: bytes) -> Iterator[str]:
    """Yield the lines that are neither blank nor comments, as labs/placement.py reads them."""
    for line in decode_source(content).splitlines():
        if line.strip() and not line.strip().startswith("#"):
            yield line.strip()


def values_text(values: object) -> str:
    """Return values of TOML or JSON as one text, the same for any order of their keys."""
    return json.dumps(values, sort_keys=True, default=str)


def _python_words(content: bytes) -> Sequence[str]:
    words: list[str] = []
    _add_node(ast.parse(content), words)
    return words


def _add_node(node: ast.AST, words: list[str]) -> None:
    """Add a syntax tree's nodes, fields and values to `words`, without positions, and without
    fields that are None or empty lists, as those are that later versions of Python add."""
    words.append(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or field in ("ctx", "kind", "type_comment"):
            continue
        if isinstance(value, list):
            if isinstance(node, ast.JoinedStr):
                value = [piece for piece in value if not _is_empty(piece)]
            if value:
                words.append(field)
                _add_list(value, words)
        else:
            words.append(field)
            _add_value(value, words)
    words.append(")")


def _add_value(value: object, words: list[str]) -> None:
    if isinstance(value, ast.AST):
        _add_node(value, words)
    else:
        words.append(ascii(value))  # repr() goes by the Unicode that a version of Python knows


def _add_list(values: Iterable[object], words: list[str]) -> None:
    for value in values:
        if isinstance(value, ast.Import | ast.ImportFrom):
            words.extend(_imports(value))
        elif not _is_prose(value):
            _add_value(value, words)
    words.append("]")


def _is_prose(value: object) -> bool:
    """Tell whether a node is a string as a statement of its own, as docstrings are."""
    return (
        isinstance(value, ast.Expr)
        and isinstance(value.value, ast.Constant)
        and isinstance(value.value.value, str)
    )


def _is_empty(value: object) -> bool:
    """Tell whether a node is an empty piece of an f-string, which some versions of Python make."""
    return isinstance(value, ast.Constant) and value.value == ""


def _imports(statement: ast.Import | ast.ImportFrom) -> Iterator[_Reference]:
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            yield _Reference(f"{alias.name}::{alias.asname or ''}")
        else:
            module = "." * statement.level + (statement.module or "")
            yield _Reference(f"{module}:{alias.name}:{alias.asname or ''}")


_FORMS: dict[str, Callable[[bytes], Iterable[str]]] = {
    ".py": _python_words,
    ".c": _c_words,
    ".h": _c_words,
    ".f90": lambda content: fortran_tokens(decode_source(content)),
    ".cmake": _cmake_words,
    "CMakeLists.txt": _cmake_words,
    ".sh": _shell_words,
    ".env": _placement_words,
    ".toml": lambda content: [values_text(tomllib.loads(content.decode()))],
    ".json": lambda content: [values_text(json.loads(content))],
}


# ---- references --------------------------------------------------------------------------


class Resolver:
    """Finder of the files that a reference names, by the end of their paths."""

    def __init__(self, forms: Iterable[tuple[str, Form]]) -> None:
        """forms: path, with '/', and form of each file."""
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for path, form in forms:
            name = path.rpartition("/")[2]
            self._by_name.setdefault(name, []).append((f"/{path}", form.digest))

    def digest_of(self, form: Form) -> str:
        """Return a digest of the code of a file and of the files that it names itself. It stays the
        same where these are renamed with the references, and changes where a name comes to mean
        another file."""
        runs = [sorted(map(self._resolved, run)) for run in form.references]
        return hashlib.sha256(json.dumps([form.digest, runs]).encode()).hexdigest()

    def _resolved(self, reference: str) -> str:
        if ":" in reference:
            return self._resolved_import(*reference.split(":"))
        source = _SOURCE.fullmatch(reference)
        return self._named(source[1] if source else reference) or reference

    def _resolved_import(self, module: str, name: str, alias: str) -> str:
        folder = module.replace(".", "/")
        is_module = self._named(f"{folder}/{name}.py") if name else ""
        if is_module:
            return f"{is_module}::{alias}"
        found = self._named(f"{folder}.py") or self._named(f"{folder}/__init__.py")
        if not found and module.partition(".")[0] != "numalab":
            found = module
        return f"{found}:{name}:{alias}"

    def _named(self, path: str) -> str:
        """Return the digests of the files whose path ends so, as one text; empty where there is
        none."""
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        ending = "/" + "/".join(parts)
        there = self._by_name.get(ending.rpartition("/")[2], ())
        return " ".join(sorted({digest for file, digest in there if file.endswith(ending)}))


# ---- forms that are kept -------------------------------------------------------------------------


FILE = "code_forms.json"
MAX_FORMS = 5000  # above it, forms that the last call did not need are dropped

_known: dict[str, Form] = {}  # by key, in this process
_stored: dict[Path, set[str]] = {}  # the keys in each file of forms


def forms_of(
    installation: Installation,
    files: Iterable[tuple[str, Path]],
    make: Callable[[str, bytes], Form],
    maker: bytes,
) -> list[tuple[str, Form]]:
    """Return path and form of each file, in the order given.

    A kept form is recognised by the file's path and whole content, and not by its times. Where
    there is no build folder, or it can't be written to, new forms are kept in this process only.

    Args:
        installation: whose build folder keeps forms.
        files: path from numalab's root, with '/', and place of each file.
        make: makes a form of such a path and the file's content.
        maker: identifies make(); forms of another maker are not reused.
    """
    store = _build_folder(installation) / FILE
    if store not in _stored:
        _stored[store] = _load(store)
    made_by = hashlib.sha256(maker)
    found: list[tuple[str, str]] = []
    for name, path in files:
        content = path.read_bytes()
        digest = made_by.copy()
        digest.update(name.encode() + b"\0" + content)
        key = digest.hexdigest()
        if key not in _known:
            _known[key] = make(name, content)
        found.append((name, key))
    _keep(store, {key for _, key in found})
    return [(name, _known[key]) for name, key in found]


def _build_folder(installation: Installation) -> Path:
    """Return the folder of builds; for a variant's installation the one in which its root is."""
    return (
        installation.build_root if installation.origin is None else installation.root.parent.parent
    )


def _load(store: Path) -> set[str]:
    kept = read_json(store)
    with suppress(TypeError, ValueError, AttributeError):
        read = {
            key: Form(digest, tuple(map(tuple, references)))
            for key, (digest, references) in kept.items()
        }
        _known.update(read)
        return set(read)
    return set()


def _keep(store: Path, used: Set[str]) -> None:
    if used <= _stored[store] or not store.parent.is_dir():
        return
    keys = used | _stored[store]
    if len(keys) > MAX_FORMS:
        keys = set(used)
    forms = {key: (_known[key].digest, _known[key].references) for key in sorted(keys)}
    with suppress(OSError):
        write_json(store, forms, indent=None)
        _stored[store] = set(keys)


@lru_cache(maxsize=8)
def text_of_sources(*paths: Path) -> bytes:
    """Return the content of files as one text, with NUL between them."""
    return b"\0".join(path.read_bytes() for path in paths)
