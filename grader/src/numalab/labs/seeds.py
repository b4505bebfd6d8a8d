"""Seeds of variants: numbers from a course's secret and a student's id, and the codes that hold
them.

A code has a check by which nearly all mistyped codes and other students' codes are recognised. The
check is computed without the secret, so it does not recognise a code that was made up on purpose.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import date

from numalab.errors import UserError

SEEDS = range(1, 2**32)
TODAY = "today"

# Crockford's base 32: without I, L, O and U, which are easily misread.
_SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans({"I": "1", "L": "1", "O": "0"})
_SIGN_BITS = 5
_CODE_SIGNS = 9
_CHECK_BITS = _CODE_SIGNS * _SIGN_BITS - 32

# Later versions can draw more than earlier ones. A code says from which edition of draws its
# variants are, by a number that its check is combined with, so that students keep the variants that
# they began.
DRAWS = 2
_EDITIONS = {1: 0, 2: 0b1010101010101}


@dataclass(frozen=True)
class Seed:
    """The seed of a student's variants."""

    number: int  # one of SEEDS
    owner: str  # the student's id, or without a course a text, to which the code is bound
    draws: int = DRAWS  # the edition of draws that its variants are from

    @property
    def code(self) -> str:
        """Return the code, nine signs in groups of three."""
        check = _check(self.owner, self.number) ^ _EDITIONS[self.draws]
        value = self.number << _CHECK_BITS | check
        bits = range((_CODE_SIGNS - 1) * _SIGN_BITS, -1, -_SIGN_BITS)
        signs = "".join(_SIGNS[value >> bit & 31] for bit in bits)
        return "-".join(signs[at : at + 3] for at in range(0, _CODE_SIGNS, 3))


def _check(owner: str, number: int) -> int:
    digest = hashlib.sha256(f"numalab code {number} {owner}".encode()).digest()
    return int.from_bytes(digest[:2], "big") >> (16 - _CHECK_BITS)


def personal_seed(secret: bytes, owner: str, draws: int = DRAWS) -> Seed:
    """Return a student's seed. secret: the course's; owner: the student's id in the gradebook;
    draws: the edition of draws."""
    digest = hmac.new(secret, f"numalab seed {owner}".encode(), hashlib.sha256).digest()
    return Seed(SEEDS[int.from_bytes(digest[:8], "big") % len(SEEDS)], owner, draws)


def seed_of_code(owner: str, code: str) -> Seed:
    """Return the seed of a code, whatever its case, blanks and hyphens. owner: the student's id.
    Raises UserError for a text that is no code, or fails the check for this owner."""
    signs = code.upper().replace("-", "").replace(" ", "").translate(_READ_AS)
    if len(signs) != _CODE_SIGNS or any(sign not in _SIGNS for sign in signs):
        raise UserError(
            f"'{code}' is no code: one has nine letters and digits, such as 7KX-0QM-2F9. Copy it "
            "from what your instructor sent you."
        )
    value = 0
    for sign in signs:
        value = value << _SIGN_BITS | _SIGNS.index(sign)
    number = value >> _CHECK_BITS
    for draws in _EDITIONS if number in SEEDS else ():
        seed = Seed(number, owner, draws)
        if seed.code.replace("-", "") == signs:
            return seed
    raise UserError(
        f"the code {code} does not belong to '{owner}'. Write both as your instructor sent "
        "them to you; a code holds for one person."
    )


def chosen_seed(text: str, today: date) -> Seed:
    """Return the seed that a value of --seed means. text: a number of SEEDS, or "today"; today: the
    date. Raises UserError for another text."""
    if text == TODAY:
        return Seed(today.year * 10_000 + today.month * 100 + today.day, today.isoformat())
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) in SEEDS):
        raise UserError(
            f"--seed {text[:40]}: write 'today' or a whole number from 1 to {SEEDS[-1]}"
        )
    return Seed(int(text), f"seed {text}")
