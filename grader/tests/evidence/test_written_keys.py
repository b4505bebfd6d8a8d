"""What the monitor writes in C against the format: each key has its field, and each field of a run
has who writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec

from numalab.evidence.format import GradingRecord
from numalab.evidence.run_formats import AnyRunRecord
from numalab.installation import Installation

# Of earlier records: nobody writes them any more.
FORMER = {"answer_to_less"}


def structs(form: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield a class of the format and all below it."""
    if msgspec.inspect.is_struct_type(form):
        yield form
        for field in msgspec.structs.fields(form):
            yield from structs(field.type)
    for part in get_args(form):
        yield from structs(part)


def keys(*forms: Any) -> set[str]:
    found = {form for each in forms for form in structs(each)}
    return {field.encode_name for form in found for field in msgspec.structs.fields(form)}


def written(folder: Path) -> set[str]:
    """Return the keys that C sources write into a record."""
    found: set[str] = set()
    for path in folder.rglob("*.c"):
        if path.name.startswith("describe_"):  # programs of their own
            continue
        text = path.read_text("utf-8")
        found.update(re.findall(r'json_object_set_new\([^,"]+,\s*"(\w+)"', text))
        for call in re.findall(r'json_pack\("\{[^;]*;', text):
            found.update(re.findall(r'"([a-z]\w*)"', call))
    return found


def test_each_key_that_the_monitor_writes_has_its_field(installation: Installation) -> None:
    values = {
        value
        for form in structs(AnyRunRecord)
        for value in re.findall(r"'(\w+)'", str(msgspec.inspect.type_info(form)))
    }
    found = written(installation.root / "common/monitor")
    assert len(found) > 100
    assert found - keys(GradingRecord) - values == {"unknown"}  # an error's name


def test_each_field_of_a_run_has_who_writes_it(installation: Installation) -> None:
    sources = [
        *(installation.root / "common").rglob("*.c"),
        *(installation.root / "grader/src/numalab/grading").rglob("*.py"),
        *(installation.root / "grader/src/numalab/harness").rglob("*.py"),
        installation.root / "grader/src/numalab/evidence/repeats.py",
    ]
    words = set(re.findall(r"\w+", " ".join(path.read_text("utf-8") for path in sources)))
    assert keys(*get_args(AnyRunRecord)) - words == FORMER
