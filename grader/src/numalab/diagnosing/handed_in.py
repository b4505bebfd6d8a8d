"""diagnose.toml, with which a student answers to a case. The case follows from the code, so that
nothing has to run to score the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numalab.diagnosing.case import answered, diagnosis_json, make_case
from numalab.errors import KitError, UserError, reason_of
from numalab.files import write_whole
from numalab.kit import Kit
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed, seed_of_code
from numalab.toml_files.tables import parse_table, read_text

FILE = "diagnose.toml"
_KEYS = ("lab", "for", "code", "answers")


def scored(kit: Kit, lab: Lab, student: str | None, text: str) -> dict[str, Any]:
    """Of the text of the file. student: whose it has to be, None: whose code it has. Raises
    UserError, also for another person's code, and KitError."""
    table = parse_table(text, FILE, UserError, _KEYS)
    table.need(*_KEYS)
    owner, code = table.text("for"), table.text("code")
    if table.text("lab") != lab.name:
        table.fail(f"'lab' is not {lab.name}, with which it was handed in", "lab")
    if student is not None and owner != student:
        table.fail(f"'for' is '{owner}', but {student} handed it in", "for")
    seed = seed_of_code(owner, code)
    answers = answered(make_case(kit, lab, seed), table.texts("answers"))
    return diagnosis_json(f"{lab.name} {seed.code}", answers)


def keep_first(folder: Path, lab: Lab, seed: Seed, letters: tuple[str, ...]) -> bool:
    """Writes the file, or leaves it where there is one, since the first answers count. Returns
    whether it was written. Raises UserError where the file is of another case, and KitError."""
    path = folder / FILE
    try:
        table = parse_table(read_text(path, UserError), str(path), UserError, _KEYS)
    except FileNotFoundError:
        values = {"lab": lab.name, "for": seed.owner, "code": seed.code, "answers": list(letters)}
        lines = (f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        try:
            write_whole(path, "".join(lines))
        except OSError as error:
            raise KitError(f"can't write {path}: {reason_of(error)}. Free it and retry.") from error
        return True
    if (table.text("lab"), table.text("code")) != (lab.name, seed.code):
        raise UserError(f"{path} has answers to another case; move it elsewhere first")
    return False
