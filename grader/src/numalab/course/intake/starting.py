"""Tell whether a file that was handed in is starting code, regardless of comments and blanks."""

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
    """The starting code that students get. root: the folder that has numalab's labs."""

    root: Path

    def __call__(self, lab: Lab, name: str, content: bytes, ticket: bytes | None) -> bool:
        """Tell whether a file is as students get it. name: its name in the lab; ticket: says which
        variant of a lab with variants it is compared with; without a ticket of this lab that can be
        read the answer for a variant is False."""
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
    """Return the digest of each file of a seed's variant, by name."""
    draws = read_draws(root, lab)
    files = lab_files(root, draws, draw_variant(draws, seed))
    return {name: (digest_of(name, text.encode()),) for name, text in files.items()}
