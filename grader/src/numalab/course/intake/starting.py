"""Tell whether a file that was handed in is starting code, whatever its comments and blanks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from numalab.errors import NumalabError, UserError
from numalab.grading.variant_installations import TICKET, parse_ticket
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed
from numalab.labs.starting_code import digest_of
from numalab.labs.variants import draw_variant, lab_files, lab_of_variant, read_draws


@dataclass(frozen=True)
class StartingCode:
    """The starting code that students get. root: of numalab's folders."""

    root: Path

    def __call__(self, lab: Lab, name: str, content: bytes, ticket: bytes | None) -> bool:
        """Return whether a file is as the lab's students get it; of a variant, which each student
        has another one of, as it was written for whom ticket names. Without one nothing is."""
        digests: Mapping[str, Sequence[str]] = lab.starting_code
        if lab.is_variant:
            if ticket is None:
                return False
            try:
                named, seed = parse_ticket(ticket.decode("utf-8", "replace"), TICKET)
                if named != lab_of_variant(lab.name):
                    return False
                digests = _variant_digests(self.root, named, seed)
            except (NumalabError, UserError):
                return False
        return digest_of(name, content) in digests.get(name, ())


@lru_cache(maxsize=16)
def _variant_digests(root: Path, lab: str, seed: Seed) -> dict[str, Sequence[str]]:
    """Return the digests of everything that is written for a seed. Raises NumalabError."""
    draws = read_draws(root, lab)
    files = lab_files(root, draws, draw_variant(draws, seed))
    return {name: (digest_of(name, text.encode()),) for name, text in files.items()}
