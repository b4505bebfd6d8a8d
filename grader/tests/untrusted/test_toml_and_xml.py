"""TOML, placements and exports of hwloc that are made to hang, fill or break their readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.exports import core, imported_text, machine, memory

from numalab.errors import UserError
from numalab.grading.handed_files import complaint_of
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.launch import BadPolicy, parse_policy
from numalab.labs.prediction import BadPrediction, read_predictions
from numalab.machines.machine_file import parse_machine
from numalab.toml_files.tables import parse_table
from numalab.untrusted import reader_pool, toml
from numalab.untrusted import xml as untrusted_xml
from numalab.untrusted.visible import visible

TOMLS = {
    "digits": ("ranks = " + "9" * 5_000, "line 2.*more digits"),
    "hexadecimal": ("ranks = 0x" + "f" * 5_000, "line 2.*64 bits"),
    "65 bits": ("ranks = 9223372036854775808", "line 2.*64 bits"),
    "brackets": ("ranks = " + "[" * 20_000, "too deep"),
    "closed brackets": ("ranks = " + "[" * 100 + "]" * 100, "too deep"),
    "tables": ("ranks = " + "{a=" * 400 + "1" + "}" * 400, "too deep"),
    "dots": ("a" + ".a" * 200 + " = 1", "too deep"),
    "header": ("[a" + ".a" * 200 + "]", "too deep"),
    "control": ('ranks = "\\u001b[2J"', r"\\x1b\[2J"),
    "key": ('"\\u202e\\u001b" = 1', r"<U\+202E>\\x1b"),
    "long": ('ranks = "' + "x" * 50_000 + '"', "."),
    "no TOML": ("\x1b]52;c;eA==\x07", "not TOML"),
}


@pytest.mark.parametrize("name", TOMLS)
def test_toml(name: str, labs: dict[str, Lab]) -> None:
    text, said = TOMLS[name]
    with pytest.raises(BadPolicy, match=said.replace("line 2", "")) as launch:
        parse_policy(f"# mine\n{text}", "launch.toml")
    assert len(str(launch.value)) < 2_000
    assert str(launch.value) == visible(str(launch.value))
    with pytest.raises(BadPrediction):
        read_predictions(f"# mine\n{text}")
    for lab in labs.values():
        for file in lab.files:
            complaint = complaint_of(file, f"# mine\n{text}")
            assert complaint is not None
            assert complaint == visible(complaint)
            assert len(complaint) < 700


def test_numbers_are_told_with_their_line() -> None:
    with pytest.raises(UserError, match=r"^x\.toml:2: a number has more digits"):
        parse_table("a = 1\nb = " + "9" * 5_000, "x.toml", UserError, None)
    with pytest.raises(UserError, match=r"^x\.toml:4: a whole number is too large"):
        parse_table("a = 1\n[b]\nc = [1,\n-9223372036854775809]", "x.toml", UserError, None)
    table = parse_table("a = 9223372036854775807\nb = -9223372036854775808", "x", UserError, None)
    assert table.whole("a", 0) == 2**63 - 1


def test_dots_that_cost_the_square_of_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the two limits comes first on a node."""
    monkeypatch.setattr(toml, "LIMITS", replace(toml.LIMITS, computing_s=1, memory_bytes=96 << 20))
    said = toml.why_not_readable(".".join("a" * 32_700) + " = 1")
    assert "can't be read within 1 s of computing" in said or "too much memory" in said
    assert "is larger than 64 KiB" in toml.why_not_readable("#" * (65 << 10))
    assert toml.why_not_readable("no TOML, and read to its end") == ""
    assert toml.why_not_readable("ranks = 2\n") == ""
    assert toml.why_not_readable("x = '\ud800'") == "has characters that no text has"


@pytest.mark.parametrize(
    "text",
    [
        "OMP_PLACES=" + "x" * 280_000,
        "OMP_PLACES=a\x1b[2Jb",
        "\x1b]52;c;eA==\x07=cores",
        "\u202eOMP_PLACES=cores",
        "OMP_PLACES=cores\0",
        "export " * 9_000,
        "=" * 200_000,
        "A" * 200_000 + "=1",
    ],
)
def test_placements(text: str, labs: dict[str, Lab]) -> None:
    (file,) = [file for file in labs["02_affinity"].files if file.name == "omp_spread.env"]
    complaint = complaint_of(file, text)
    assert complaint is not None
    assert complaint == visible(complaint)
    assert len(complaint) < 700


# ---- exports of hwloc ------------------------------------------------------------------------

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {after} "{f"&{before};" * 10}">'
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
) + ']><topology version="2.0">&i;</topology>'  # fmt: skip


def export(inside: str) -> str:
    return f'<?xml version="1.0"?><topology version="2.0">{inside}</topology>'


SMALL = machine([0], memory(0, [0]) + core(0))
BIT = '"0x00000001"'
XMLS = {
    "laughs": (LAUGHS, "declares entities"),
    "external": (
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><topology version="2.0">&a;'
        "</topology>",
        "declares entities",
    ),
    "parameter": ('<!DOCTYPE x [<!ENTITY % a SYSTEM "http://x/"> %a;]><topology/>', "entities"),
    "deep": ("<topology>" + "<object>" * 100_000, "too deep"),
    "cut": ('<topology version="2.0">', "not XML"),
    "many": (machine([0, 1], memory(0, [0, 1]) + core(0) * 3_000), "appears twice|no machine"),
    "no set": (SMALL.replace(BIT, '"ada"'), "no machine|no NUMA node"),
    "digits of PUs": (
        machine([0, 1], memory(0, [0, 1]) + core(0, 1)).replace(
            'os_index="1"', f'os_index="{"9" * 5_000}"'
        ),
        "a PU has no number",
    ),
    "digits": (SMALL.replace('os_index="0"', f'os_index="{"9" * 5_000}"'), "a PU has no number"),
    "no type": (SMALL.replace('type="Core"', 'type="\u202e"'), "no machine"),
    "names": (export("").replace("topology", "\u202etopology"), "not XML"),
    "root": ("<a\u202e/>", "not XML"),
    "encoding": ('<?xml version="1.0" encoding="x-\u00e9"?><topology/>', "not XML"),
}  # fmt: skip


@pytest.mark.parametrize("name", XMLS)
def test_xml(installation: Installation, name: str, tmp_path: Path) -> None:
    text, said = XMLS[name]
    path = tmp_path / "node.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said) as error:
        imported_text(installation, path)
    assert len(str(error.value)) < 1_000
    assert str(error.value) == visible(str(error.value))


def test_a_memory_of_many_digits_and_a_model_that_hides(
    installation: Installation, tmp_path: Path
) -> None:
    info = '<info name="CPUModel" value="X\u202e\u200bY"/><userdata length="3">a&amp;b</userdata>'
    text = machine([0], info + memory(0, [0], 2**9_000) + core(0))
    path = tmp_path / "node.xml"
    path.write_text(text, encoding="utf-8")
    found = imported_text(installation, path)
    assert 'title = "X<U+202E><U+200B>Y"' in found
    assert "memory_mb = 9223372036854775807" not in found  # no more than a number can be


def test_an_endless_set_holds_nothing(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "node.xml"
    path.write_text(SMALL.replace(BIT, '"0xf...f"'))
    (note, *_) = parse_machine(imported_text(installation, path), Path("node.toml")).notes
    assert "No NUMA node of the export holds the PUs 0" in note


def test_sets_of_many_words(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "node.xml"
    numbers = ",".join(f"0x{number:08x}" for number in range(9_999))
    path.write_text(SMALL.replace(f"complete_cpuset={BIT}", f'complete_cpuset="{numbers}"'))
    (note,) = parse_machine(imported_text(installation, path), Path("node.toml")).notes
    assert len(note) < 400


def test_xml_that_takes_too_long_is_refused(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = reader_pool.Limits(computing_s=1, memory_bytes=100 << 20)
    monkeypatch.setattr(untrusted_xml, "LIMITS", limits)
    path = tmp_path / "node.xml"
    path.write_text(export("<object/>" * 1_500_000))
    with pytest.raises(UserError, match=r"can't be read within 1 s|too much memory"):
        imported_text(installation, path)
    path.unlink()
    with pytest.raises(UserError, match="No such file"):
        imported_text(installation, path)
    path.symlink_to("/dev/zero")
    with pytest.raises(UserError, match="is no plain file"):
        imported_text(installation, path)
