"""Which earlier digests of what evidence depends on are proved equal in effect to the present one:
former_digests.toml, which grader/bench/former_digests.py writes."""

from __future__ import annotations

from pathlib import Path

from numalab.errors import KitError
from numalab.grading.kit_digests import measured_by
from numalab.kit import Kit
from numalab.toml_files.tables import read_table

FILE = Path("grader", "src", "numalab", "grading", "former_digests.toml")


def known_as(kit: Kit, lab: str) -> tuple[str, ...]:
    """Return the digest by which a lab is measured now, and behind it the former ones that stand
    for it, if only through others. Raises OSError and KitError."""
    known = [measured_by(kit, lab)]
    rows = _rows(kit)
    for digest in known:  # which grows
        known += [old for old, new in rows if new == digest and old not in known]
    return tuple(known)


def _rows(kit: Kit) -> list[tuple[str, str]]:
    """Return pairs of an old and a new digest; none where a copy of the kit has no such file."""
    if not (kit.root / FILE).is_file():
        return []
    top = read_table(kit.root / FILE, KitError, None)
    rows = []
    for revision in top.values:
        table = top.table(revision, None)
        for lab in table.values:
            digests = table.texts(lab)
            if len(digests) != 2:
                table.fail("an old and a new digest are wanted", lab)
            rows.append((digests[0], digests[1]))
    return rows
