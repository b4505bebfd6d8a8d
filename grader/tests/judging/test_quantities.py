"""Predictions of the staff's run: what a lab asks, the file, and what comes of both."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support import invented, mpi_labs
from support.golden_texts import check_text, raises_text
from support.invented import FAST, TWO_NODES, evidence, steady
from support.pages import assert_sound, words

from numalab.commands.reporter import Reporter
from numalab.errors import NumalabError
from numalab.evidence.format import HandedText
from numalab.evidence.read_record import parse
from numalab.grading.graded import GradedKernel
from numalab.grading.handed_files import read_files
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing_reuse import RECORD
from numalab.installation import Installation
from numalab.judging.judge import judge
from numalab.judging.timing_account import timing_accounts
from numalab.labs.declaration import Lab, load_lab
from numalab.labs.quantities import FILE, BadPredictions, read_predictions, template
from numalab.learning.initial_answers import digest_of, read_initial_answers
from numalab.reports import prediction_report
from numalab.reports.html_page import page
from numalab.reports.occasion import Occasion, Submission
from numalab.reports.report import show_verdict
from numalab.terminal import make_console

Json = dict[str, Any]

ASKED = """
[[predicted]]
name = "gain"
question = "How many times as fast as the handout is the solution?"
of = "ratio"
role = "solution"
over = "handout"

[[predicted]]
name = "solution_s"
question = "What does a repetition of the solution take?"
of = "time"
role = "solution"

[[predicted]]
name = "own_gb_s"
question = "At what rate does your kernel move memory?"
of = "rate"
role = "submission"

[[predicted]]
name = "local"
question = "Which share of the pages will be local?"
of = "value"
criterion = "local_pages"
unit = "share"

[[predicted]]
name = "on_hydra"
question = "And on hydra?"
of = "value"
criterion = "local_pages"
where = "hydra"
unit = "share"
"""

SEEN = 'of = "seen"\nwhat = "used_by_lower_half"\narray = "b"\n'

# What the invented record has: 0.44 s against 0.23 s, and 2 % more in all but the warm-up; 2^28
# bytes, and every page local.
GOOD = "gain = 1.913\nsolution_s = 0.2346\nown_gb_s = 1.144\nlocal = 1.0\non_hydra = 0.5\n"


def with_asked(installation: Installation, asked: str = ASKED) -> Lab:
    declared = (installation.grading_folder("01_first_touch") / "lab.toml").read_text("utf-8")
    return load_lab(installation.lab_folder("01_first_touch"), declared + asked)


@pytest.fixture
def lab(installation: Installation) -> Lab:
    return with_asked(installation)


def graded(lab: Lab, text: str | None, complaint: str | None = None, **more: Any) -> GradedKernel:
    given: Json = {"times": steady(9, **FAST)} | more
    record = evidence(TWO_NODES, **given)
    for run in record["runs"]:
        if run["kind"] == "generation":
            run["bytes_allocated"] = 0  # what else has no rate
    if text is not None:
        record["handed_in"] = [
            {"file": FILE, "complaint": complaint, "variables": {}, "text": text}
        ]
    here = parse(record)
    verdict = judge(lab, here)
    return GradedKernel(lab, verdict, [("here", here)], timing_accounts(lab, verdict, here))


def scores(kernel: GradedKernel) -> dict[str, float | None]:
    found = kernel.predictions
    assert found is not None
    return {one.name: one.score for one in found.quantities}


# ---- what a lab asks -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('over = "handout"', 'over = "solution"'),
        ('over = "handout"', ""),
        ('of = "time"', 'of = "tiem"'),
        ('of = "time"', 'of = "time"\ncriterion = "correct"'),
        ('criterion = "local_pages"', 'criterion = "local_page"'),
        ('name = "gain"', 'name = "local"'),
        ('of = "rate"', 'of = "rate"\npart = "x"'),
        ("question =", "qestion ="),
        ('of = "rate"\nrole = "submission"', 'of = "seen"\nwhat = "usd"'),
        ('of = "rate"\nrole = "submission"', SEEN + "first = 0.5\nlast = 0.5"),
        ('of = "rate"\nrole = "submission"', SEEN + "first = 0.5\nlast = 1.5"),
        ('of = "rate"\nrole = "submission"', SEEN + "first = 0.5"),
        (
            'of = "rate"\nrole = "submission"',
            'of = "seen"\nwhat = "met"\nrank = 1',
        ),
    ],
)
def test_a_slip_in_what_is_asked_is_named(
    installation: Installation, was: str, becomes: str
) -> None:
    with pytest.raises(NumalabError) as raised:
        with_asked(installation, ASKED.replace(was, becomes, 1))
    assert "lab.toml" in str(raised.value)
    check_text(str(raised.value))


# ---- the file --------------------------------------------------------------------------


def test_a_file_is_read_line_by_line(lab: Lab) -> None:
    said = read_predictions(
        'gain = 2\nlocal = 1.5\nsolution_s = "0.2 s"\nown_gb_s = -1\nlocl = 1\n', lab.predicted
    )
    assert said.values == {"gain": 2.0}
    assert said.complaints.keys() == {"local", "solution_s", "own_gb_s"}
    check_text(said.unknown)


@pytest.mark.parametrize("value", ["nan", "inf", "true", "[1]", '"2"', "0", "-0.0"])
def test_what_is_no_number_that_can_be_meant(lab: Lab, value: str) -> None:
    said = read_predictions(f"gain = {value}", lab.predicted)
    assert said.complaints.keys() == {"gain"} and not said.values


def test_what_still_says_nothing_is_not_said(lab: Lab) -> None:
    handed_out = template(lab.predicted)
    assert read_predictions(handed_out, lab.predicted).is_empty
    assert not read_predictions(handed_out + "x = 1\n", lab.predicted).is_empty
    said = read_predictions(handed_out.replace('gain = ""', "gain = 2"), lab.predicted)
    assert (said.values, said.complaints) == ({"gain": 2.0}, {})


def test_a_share_may_be_nothing(lab: Lab) -> None:
    assert read_predictions("local = 0", lab.predicted).values == {"local": 0.0}


def test_what_is_no_toml_is_refused_with_its_line(lab: Lab) -> None:
    with raises_text(BadPredictions):
        read_predictions("gain = 2\nlocal = 1,5", lab.predicted)


# ---- what comes of it ------------------------------------------------------------------


def test_nothing_handed_in_or_asked_is_nothing_told(lab: Lab, first_touch: Lab) -> None:
    assert graded(lab, None).predictions is None
    assert "prediction" not in graded(lab, None).json_data()
    assert graded(first_touch, GOOD).predictions is None


def test_that_nothing_is_predicted_is_told(lab: Lab, first_touch: Lab) -> None:
    told = prediction_report.none_words(graded(lab, None))
    assert "solution_s" in told
    check_text(told)
    assert prediction_report.none_words(graded(lab, GOOD)) == ""
    assert prediction_report.none_words(graded(first_touch, None)) == ""


def test_each_quantity_is_held_against_what_was_measured(lab: Lab) -> None:
    kernel = graded(lab, GOOD)
    found = kernel.predictions
    assert found is not None
    by_name = {one.name: one for one in found.quantities}
    assert list(by_name) == ["gain", "solution_s", "own_gb_s", "local", "on_hydra"]
    for name, middle in (
        ("gain", 0.44 / 0.23),
        ("solution_s", 0.2346),
        ("own_gb_s", 0.268 / 0.2346),
    ):
        one = by_name[name]
        assert one.low is not None and one.high is not None
        assert 0.95 * middle < one.low <= one.high < 1.05 * middle
    assert (by_name["local"].low, by_name["local"].high) == (1.0, 1.0)
    assert all(one.score == 1 for one in found.quantities if one.name != "on_hydra")
    assert found.score == 1


def test_what_was_not_measured_is_left_out_of_the_mean(lab: Lab) -> None:
    found = graded(lab, GOOD.replace("gain = 1.913", "gain = 100")).predictions
    assert found is not None and found.score == pytest.approx(3 / 4)
    hydra = found.quantities[-1]
    assert (hydra.score, hydra.low, hydra.predicted) == (None, None, 0.5)
    check_text(hydra.why)


def test_times_that_nothing_bounds_are_left_out(lab: Lab) -> None:
    few = scores(graded(lab, GOOD, times=steady(2, **FAST)))
    assert few["gain"] is few["solution_s"] is None and few["local"] == 1
    none = graded(lab, GOOD, times=()).predictions
    assert none is not None
    check_text(none.quantities[0].why)


def test_a_missing_prediction_is_worth_nothing(lab: Lab) -> None:
    found = graded(lab, "local = 1\ngain = -1\n").predictions
    assert found is not None and found.score == pytest.approx(1 / 4)
    gain, solution_s, *_ = found.quantities
    assert (gain.score, gain.why) == (0, "Not usable: it has to be above 0.")
    assert (solution_s.score, solution_s.why) == (0, "Nothing was predicted.")
    # What was measured is shown of what is predicted alone.
    assert (gain.low, gain.high, solution_s.low, solution_s.high) == (None,) * 4
    measured = [measured for _, _, measured, *_ in prediction_report.rows(found)]
    assert measured[:2] == ["predict it first"] * 2 and "1 share" in measured


@pytest.mark.parametrize("factor", [1.1, 1.5, 1.9, 2.5])
def test_too_much_and_too_little_are_worth_alike(lab: Lab, factor: float) -> None:
    ends = graded(lab, GOOD).predictions
    assert ends is not None
    gain = ends.quantities[0]
    assert gain.low is not None and gain.high is not None
    above = scores(graded(lab, f"gain = {gain.high * factor}"))["gain"]
    below = scores(graded(lab, f"gain = {gain.low / factor}"))["gain"]
    assert above == below == pytest.approx(max(0, 1 - math.log2(factor)), abs=1e-3)


def test_a_file_that_can_not_be_used_says_why(lab: Lab) -> None:
    found = graded(lab, "", complaint=f"{FILE} is larger than 64 KiB.").predictions
    assert found is not None and found.score == 0
    check_text(found.why)
    said = graded(lab, "locl = 1").predictions
    assert said is not None
    check_text(said.why)


def test_the_json_has_what_is_agreed(lab: Lab) -> None:
    told = graded(lab, GOOD).json_data()["prediction"]
    assert told["score"] == 1 and "why" not in told
    keys = {"name", "predicted", "low", "high", "unit", "score", "why"}
    assert all(one.keys() == keys for one in told["quantities"])
    assert graded(lab, GOOD).json_data()["points"] == graded(lab, None).json_data()["points"]


def test_messages_are_held_against_their_samples(tmp_path: Path) -> None:
    asked = """
[[predicted]]
name = "us_1_kib"
question = "What does a message of 1 KiB take?"
of = "message"
bytes = 1024

[[predicted]]
name = "far"
question = "And far away?"
of = "message"
bytes = 1024
file = "far.toml"
"""
    lab = mpi_labs.lab_of(tmp_path, "31_messages", mpi_labs.LATENCY_LAB + asked)
    run = invented.latency("placement", samples=(1.0, 1.1, 1.2))
    here = parse(mpi_labs.session(run, files={FILE: "us_1_kib = 0.65\nfar = 1\n"}))
    found = GradedKernel(lab, judge(lab, here), [("here", here)], []).predictions
    assert found is not None
    near, far = found.quantities
    assert near.low == pytest.approx(0.625) and near.high == pytest.approx(0.625 * 1.15)
    assert near.score == 1 and far.score is None
    check_text(far.why)


def test_reports_show_it_beneath_the_criteria(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = graded(lab, GOOD.replace("local = 1.0", "local = 0.9"))
    show_verdict(make_console(), kernel)
    out = capsys.readouterr().out
    said = " ".join(out.split())
    check_text(said)
    assert max(map(len, out.splitlines())) <= 80
    occasion = Occasion("2026-01-01 12:00 UTC", TWO_NODES.describe())
    text = words(assert_sound(page([Submission("", [kernel])], occasion)))
    assert "Predictions: a score of 0.90 of 1" in text and "Left out: local_pages" in text


# ---- the file as it is handed in -------------------------------------------------------


def handed_in(
    installation: Installation, lab: Lab, folder: Path, variant: str = "submission"
) -> list[HandedText]:
    given = SimpleNamespace(
        installation=installation,
        lab=lab,
        folder=folder,
        variant=variant,
        record=SimpleNamespace(handed_in=[]),
        explanation="",
    )
    read_files(cast(Grading, given))
    found: list[HandedText] = given.record.handed_in
    return found


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD.encode(), None),
        (b"locl = 1", None),  # told where it is scored
        (b"gain = 1,9", "can't be read: line 1: this is not TOML"),
        (b"gain = 1\n# \xff", "is not in UTF-8, as line 2 shows first"),
        (b"#" * (65 << 10), "64 KiB"),
        (b"a" + b".a" * 20_000 + b" = 1", "predictions.toml "),
    ],
)
def test_the_file_is_read_with_limits(
    installation: Installation, lab: Lab, tmp_path: Path, content: bytes, says: str | None
) -> None:
    assert handed_in(installation, lab, tmp_path) == []
    (tmp_path / FILE).write_bytes(content)
    assert handed_in(installation, lab, tmp_path, "solution") == []
    (one,) = handed_in(installation, lab, tmp_path)
    assert (one.file, one.variables) == (FILE, {})
    if says is None:
        assert one.complaint is None and one.text.encode() == content
        return
    assert one.complaint is not None and says in one.complaint
    found = graded(lab, one.text, one.complaint).predictions
    assert found is not None and found.score == 0 and found.why == one.complaint


def test_nobody_reads_it_for_a_lab_that_asks_nothing(
    installation: Installation, first_touch: Lab, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(GOOD)
    assert handed_in(installation, first_touch, tmp_path) == []


def test_a_link_is_not_followed(installation: Installation, lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "else").write_text(GOOD)
    folder = tmp_path / "handed"
    folder.mkdir()
    (folder / FILE).symlink_to(tmp_path / "else")
    (one,) = handed_in(installation, lab, folder)
    assert one.text == ""
    check_text(one.complaint or "")


def test_a_learners_own_grading_keeps_what_she_predicted_first(
    installation: Installation, lab: Lab, tmp_path: Path
) -> None:
    own = replace(installation, state=tmp_path)
    first, second = graded(lab, "gain = 1.5\n"), graded(lab, GOOD)
    verdict = first.verdict
    results = own.results_folder(verdict.lab, verdict.language, verdict.variant)
    results.mkdir(parents=True)
    request = cast("Any", SimpleNamespace(folder=lambda _installation, _lab: tmp_path))
    reporter = Reporter(own, request, cast("Any", None))
    for kernel, record in ((first, {"runs": [1]}), (second, {"runs": [2]})):
        (results / RECORD).write_text(json.dumps(record))
        reporter._keep_said(kernel)
    kept = {entry.name: entry for entry in read_initial_answers(tmp_path)}
    assert (kept["gain"].said, kept["gain"].record) == (1.5, digest_of([{"runs": [1]}]))
    assert (kept["local"].said, kept["local"].record) == (1.0, digest_of([{"runs": [2]}]))
