"""Answers to a lab's questions, so that they can be checked and not read.

For each choice there is a sealed text that says whether it is right, and why; its key comes of
question, choice and a salt, by a function that is slow on purpose (scrypt). So no answer stands
anywhere. A question has three choices or four: who wants to can open them all, which takes less
than a second, as asking the kit with each of them does.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping

from numalab.errors import KitError

_SALT_BYTES = 16
_CHECK_BYTES = 16
_COST = {"n": 1 << 14, "r": 8, "p": 1}  # 16 MiB, and some hundredths of a second


def _key(question: str, choice: str, salt: bytes) -> bytes:
    return hashlib.scrypt(f"{question}: {choice}".encode(), salt=salt, dklen=32, **_COST)


def _masked(text: bytes, key: bytes) -> bytes:
    mask = hashlib.shake_256(key).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, mask, strict=True))


def seal(question: str, says: Mapping[str, str], right: str) -> dict[str, str]:
    """By choice, what opened returns; with the salt, as text."""
    salt = secrets.token_bytes(_SALT_BYTES)
    sealed = {"salt": salt.hex()}
    # Of one length, or the length would tell which choice has the sentence that is known.
    texts = {choice: json.dumps([choice == right, said]).encode() for choice, said in says.items()}
    longest = max(map(len, texts.values()))
    for choice, text in texts.items():
        text = text.ljust(longest)
        check = hashlib.sha256(text).digest()[:_CHECK_BYTES]
        sealed[choice] = _masked(check + text, _key(question, choice, salt)).hex()
    return sealed


def opened(question: str, sealed: Mapping[str, str], choice: str) -> tuple[bool, str]:
    """Whether the choice is right, and what is said to it. Raises KitError."""
    try:
        key = _key(question, choice, bytes.fromhex(sealed["salt"]))
        whole = _masked(bytes.fromhex(sealed[choice]), key)
        check, text = whole[:_CHECK_BYTES], whole[_CHECK_BYTES:]
        if check != hashlib.sha256(text).digest()[:_CHECK_BYTES]:
            raise ValueError("its check does not fit")
        is_right, said = json.loads(text)
    except (KeyError, ValueError, TypeError) as error:
        raise KitError(
            f"the answer to {question} can't be opened: {error}. Unpack this copy of the kit again."
        ) from error
    return bool(is_right), str(said)
