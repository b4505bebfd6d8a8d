"""Forms of files that were made before, kept in the build folder: the files of the kit are parsed
once, and later only those that have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from numalab.files import read_json, write_json
from numalab.grading.code_forms import Form
from numalab.installation import Installation

FILE = "code_forms.json"
MAX_FORMS = 5000  # then those of files that are no more are dropped

_known: dict[str, Form] = {}  # by key, in this process
_stored: dict[Path, set[str]] = {}  # which keys a file has


def forms_of(
    installation: Installation,
    files: Iterable[tuple[str, Path]],
    make: Callable[[str, bytes], Form],
    maker: bytes,
) -> list[tuple[str, Form]]:
    """Return the form of each file with its path in the kit.

    A form is known by a file's path and whole content, never by its times. A kit that was not built
    has no folder to keep forms in; they are made anew there, and where nothing can be written.

    Args:
        installation: whose build folder keeps forms.
        files: paths from the kit's root, with '/', and where each file is.
        make: makes a form of such a path and the file's content.
        maker: says which forms make() makes; another text makes all of them anew.

    Raises:
        OSError: a file can't be read.
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
    """Of a variant's kit the one of the kit that it was made from, in which it lies."""
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
    """Return the sources by which forms are made. Raises OSError."""
    return b"\0".join(path.read_bytes() for path in paths)
