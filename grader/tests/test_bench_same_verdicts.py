"""The proof that two versions judge alike: what it compares, and that a difference is one."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import former_digests
import same_verdicts


@pytest.mark.parametrize(
    ("name", "former", "now", "is_equal"),
    [
        ("records a", "passed  by\n2 points", "passed by 2 points", True),
        ("records a", "passed by 2 points", "passed by 3 points", False),
        ("records a", "passed", "passed and more", False),
        ("records a", "passed and more", "passed", False),
        ("records a", '"kit_version": "0.1.0"', '"kit_version": "0.2.0"', True),
        ("records a", '"kit_version": "0.2.0"', '"kit_version": "0.1.0"', False),
        # Names of C are permitted in C, one for the other.
        ("variants a/driver.c", "return found; /* why */", "return actual;", True),
        ("variants a/driver.c", "return actual;", "return found;", False),
        ("variants a/driver.c", "return found + 1;", "return actual + 2;", False),
        ("variants own 1/README.md", "found", "actual", False),
    ],
)
def test_what_may_differ(name: str, former: str, now: str, is_equal: bool) -> None:
    assert (same_verdicts.first_difference(name, former, now) == "") == is_equal
    assert same_verdicts.compare({name: former}, {name: now})[:2] == (0, int(is_equal))


def test_what_is_missing_or_refused_differs() -> None:
    refused = "numalab: there is no record\nexit code 2\n"
    former = {"a": "1", "b": "2", "c": refused, "d": "it failed\nexit code 3\n"}
    equal, renamed, differing = same_verdicts.compare(former, former | {"e": "5"} | {"b": "2"})
    assert (equal, renamed, differing.keys()) == (3, 0, {"c", "e"})
    assert same_verdicts.compare(former, {})[2].keys() == former.keys()


def test_a_record_of_a_machine_alone_is_put_below_one_without_runs(tmp_path: Path) -> None:
    def write(path: str, machine: str | None) -> None:
        own = {"name": machine} if machine else None
        record = {"lab": "01", "node": {}, "machine": own, "runs": [1], "elsewhere": {}}
        (tmp_path / "kept" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kept" / path).write_text(json.dumps(record))

    write("whole/evidence.json", None)
    write("whole/on_hydra/evidence.json", "hydra")
    write("alone/nebula.json", "nebula")
    (tmp_path / "kept/damaged.json").write_text("{")
    (tmp_path / "kept/other.json").write_text("[1]")
    found = dict(same_verdicts.copy_records(tmp_path / "kept", tmp_path / "work"))
    assert found.keys() == {"whole/evidence.json", "alone/nebula.json"}
    above = json.loads((found["alone/nebula.json"] / "evidence.json").read_text())
    assert (above["machine"], above["runs"], "elsewhere" in above) == (None, [], False)
    below = json.loads((found["alone/nebula.json"] / "on_nebula/evidence.json").read_text())
    assert below["runs"] == [1]
    kept = found["whole/evidence.json"]
    assert tmp_path / "work" in kept.parents
    assert (kept.parent / "on_hydra/evidence.json").is_file()


def test_files_are_compared_wherever_a_version_writes_them() -> None:
    was, now = "labs/10_a_variant/asked_slots.h", "labs/10_a_variant/grading/query_slots.h"
    kits = (f"built/variants/10_a_variant-7-0123456789{end}" for end in ("ab", "cd"))
    names = {
        same_verdicts.name_of_file(f"{kit}/{path}")
        for kit, path in zip(kits, (was, now), strict=True)
    }
    assert names == {"variants 10_a_variant-7/labs/10_a_variant/query_slots.h"}


def test_every_name_of_c_has_another() -> None:
    assert len(same_verdicts.NAMES) >= 60
    assert all(former not in now and now for former, now in same_verdicts.NAMES.items())


@pytest.mark.parametrize(
    "source", [inspect.getsource(same_verdicts.describe), former_digests.PRINT_DIGESTS],
    ids=["describe", "PRINT_DIGESTS"],
)  # fmt: skip
def test_what_is_run_with_each_package_imports_what_there_is(source: str) -> None:
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if str(node.module).startswith("numalab.")]
    assert len(ours) >= 3
    for node in ours:
        module = import_module(str(node.module))
        assert all(hasattr(module, alias.name) for alias in node.names), node.module
