"""What a student says of a result: read as a stranger's text, kept with the grading, and shown."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support import invented
from support.commands import grade_json, without_times

from numalab.errors import NumalabError
from numalab.evidence.read_record import parse
from numalab.grading.explanation import (
    FILE,
    LONGEST,
    keep_explanation,
    read_explanation,
    sentences,
)
from numalab.grading.graded import GradedKernel
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.labs.declaration import Lab
from numalab.reports import report

SAID = "Thread 0 wrote all pages. Half of them were used by thread 1. Now each writes its own."


def test_a_text_is_read_as_it_may_be_shown(tmp_path: Path) -> None:
    path = tmp_path / FILE
    assert read_explanation(tmp_path) == ""
    path.write_text(f"\n{SAID}\r\n\x1b[2J gone\n")
    assert read_explanation(tmp_path) == f"{SAID}\n\\x1b[2J gone"
    path.write_text("a" * 3 * LONGEST)
    assert len(read_explanation(tmp_path)) == LONGEST
    for content in (b"\xff\xfe\x00", b"a" * (1 << 20), b" \n\n"):
        path.write_bytes(content)
        assert read_explanation(tmp_path) == ""


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("somebody else's")
    path = tmp_path / FILE
    path.symlink_to(other)
    assert read_explanation(tmp_path) == ""
    assert read_explanation(tmp_path, follow_links=True) == "somebody else's"
    path.unlink()
    os.mkfifo(path)
    assert read_explanation(tmp_path) == ""  # and nobody waits for a writer


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("One", 1), ("One.", 1), (SAID, 3), ("It is 0.5 in kernel.c. Why? Yes!", 3),
     ('He says "no." Then yes', 2), ("...", 0), ("Wait ... what", 2)],
)  # fmt: skip
def test_sentences_are_counted(text: str, count: int) -> None:
    assert sentences(text) == count


def test_it_is_kept_in_the_place_of_the_one_before(tmp_path: Path) -> None:
    keep_explanation(tmp_path, SAID)
    assert read_explanation(tmp_path) == SAID
    keep_explanation(tmp_path, "")
    keep_explanation(tmp_path, "")
    assert not list(tmp_path.iterdir())
    with pytest.raises(NumalabError, match=f"{FILE} can't be written"):
        keep_explanation(tmp_path / "missing", SAID)


def test_a_report_says_that_it_is_kept(first_touch: Lab) -> None:
    evidence = parse(invented.evidence(invented.ONE_NODE))
    verdict = judge(first_touch, evidence)
    kernel = GradedKernel(first_touch, verdict, [("here", evidence)], ())
    for one, told in ((kernel, False), (replace(kernel, explanation=SAID), True)):
        console = Console(file=io.StringIO(), width=80)
        report.show_verdict(console, one)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("Your explanation is kept with this grading (3 sentences)." in text) is told
        assert ("explanation" in one.json_data()) is told


@pytest.mark.builds
def test_a_grading_keeps_it_beside_its_record(installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "hand-in" / "01_first_touch"
    folder.mkdir(parents=True)
    for name, text in (("kernel.c", "int x\n"), (FILE, SAID)):
        (folder / name).write_text(text)
    words = ("01", "--quick", "--lang", "c", "--submission", str(folder.parent))
    done, result = grade_json(installation, tmp_path, *words, **without_times(tmp_path))
    assert done.code == 1, done.err
    assert [kernel["explanation"] for kernel in result["results"]] == [SAID]
    kept = installation.results_folder("01_first_touch", "c", "submission")
    assert (kept / FILE).read_text() == f"{SAID}\n"
    done, _ = grade_json(installation, tmp_path, "--from", str(kept))
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["results"][0]["explanation"] == SAID
    (folder / FILE).unlink()
    done, result = grade_json(installation, tmp_path, *words, **without_times(tmp_path))
    assert "explanation" not in result["results"][0]
    assert not (kept / FILE).exists()
