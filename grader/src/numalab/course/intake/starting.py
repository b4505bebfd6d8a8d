"""Whether a file that was handed in is the starting code, whatever comments and blanks it has."""

from __future__ import annotations

from numalab.labs.declaration import Lab
from numalab.labs.starting_code import digest_of


def is_starting_code(lab: Lab, name: str, content: bytes) -> bool:
    """Return whether a file is as a lab's students get it. Of a variant, which each student has
    another one of, nothing is."""
    return lab.starting_code.get(name) == digest_of(name, content)
