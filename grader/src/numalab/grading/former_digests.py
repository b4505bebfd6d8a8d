"""Former digests (numalab_digests.measured_by) of versions that are proved to measure alike:
former_digests.toml, which grader/bench/former_digests.py writes."""

from __future__ import annotations

from pathlib import Path

from numalab.errors import NumalabError
from numalab.grading.numalab_digests import measured_by
from numalab.installation import Installation
from numalab.toml_files.tables import read_table

FILE = Path("grader", "src", "numalab", "grading", "former_digests.toml")


def known_as(installation: Installation, lab: str) -> tuple[str, ...]:
    """Return the digest by which a lab is measured now, and behind it the former ones that lead to
    it, directly or through others. Raises OSError and NumalabError."""
    known = [measured_by(installation, lab)]
    rows = _rows(installation)
    for digest in known:  # which grows
        known += [old for old, new in rows if new == digest and old not in known]
    return tuple(known)


def _rows(installation: Installation) -> list[tuple[str, str]]:
    """Return pairs of an old and a new digest; none where a copy of the kit has no such file."""
    if not (installation.root / FILE).is_file():
        return []
    top = read_table(installation.root / FILE, NumalabError, None)
    rows = []
    for revision in top.values:
        table = top.table(revision, None)
        for lab in table.values:
            digests = table.texts(lab)
            if len(digests) != 2:
                table.fail("an old and a new digest are wanted", lab)
            rows.append((digests[0], digests[1]))
    return rows
