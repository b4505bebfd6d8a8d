"""What was said first, with its time and the record that came after."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from numalab.errors import NumalabError
from numalab.labs.declaration import Lab
from numalab.learning.initial_answers import (
    FILE,
    InitialAnswer,
    digest_of,
    initial_answer_words,
    keep_initial_answers,
    keep_record,
    read_initial_answers,
)
from numalab.learning.progress import LearnerProgress
from numalab.learning.progress_report import progress_json, show_progress
from numalab.terminal import make_console

AT, LATER = (datetime(2026, 1, 2, hour, tzinfo=UTC) for hour in (12, 13))


def test_the_first_stays_with_its_time_and_the_next_record(tmp_path: Path) -> None:
    keep_initial_answers(tmp_path, "prediction", {"share": 0.5}, AT)
    keep_record(tmp_path, [{"runs": [1]}])
    keep_initial_answers(tmp_path, "prediction", {"share": 0.9, "speedup": 2}, LATER)
    keep_initial_answers(tmp_path, "question", {"share": "a"}, LATER)
    share, speedup, question = read_initial_answers(tmp_path)
    digest = digest_of([{"runs": [1]}])
    assert share == InitialAnswer("prediction", "share", 0.5, "2026-01-02T12:00:00+00:00", digest)
    assert (speedup.said, speedup.record) == (2, None)
    assert (question.kind, question.said, question.at) == ("question", "a", LATER.isoformat())
    assert initial_answer_words((share, speedup, question)) == (
        "2 predictions and 1 question, 2 of them not followed by a run yet"
    )
    keep_record(tmp_path, [{"runs": [2]}])
    share, speedup, question = read_initial_answers(tmp_path)
    assert (share.record, speedup.record) == (digest, digest_of([{"runs": [2]}]))
    assert initial_answer_words((share, speedup, question)) == "2 predictions and 1 question"


def test_a_digest_is_of_what_a_record_says() -> None:
    assert digest_of([{"a": 1, "b": 2}]) == digest_of([{"b": 2, "a": 1}])
    assert digest_of([{"a": 1}]) != digest_of([{"a": 2}])


def test_a_record_with_nothing_said_before_leaves_no_file(tmp_path: Path) -> None:
    keep_record(tmp_path, [{}])
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    "content",
    ["{", "{}", "[1]", '[{"kind": "x", "name": "y", "said": 1, "at": "2026-01-02T12:00:00"}]',
     '[{"kind": "question", "name": "y", "said": "a", "at": "noon"}]',
     '[{"kind": "question", "name": 3, "said": "a", "at": "2026-01-02T12:00:00"}]'],
)  # fmt: skip
def test_what_is_not_ours_is_begun_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    assert read_initial_answers(tmp_path) == ()
    keep_initial_answers(tmp_path, "question", {"q": "b"}, AT)
    assert [entry.said for entry in read_initial_answers(tmp_path)] == ["b"]
    assert len(json.loads((tmp_path / FILE).read_text())) == 1


def test_what_can_not_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NumalabError, match="what you said first can't be kept"):
        keep_initial_answers(tmp_path / "file", "question", {"q": "b"}, AT)


def test_progress_tells_it(first_touch: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    said = {first_touch.name: (InitialAnswer("question", "q", "b", AT.isoformat()),)}
    show_progress(make_console(), [first_touch], LearnerProgress(), {}, said)
    out = " ".join(capsys.readouterr().out.split())
    assert f"{first_touch.name}: 1 question, 1 of them not followed by a run yet." in out
    (told,) = progress_json([first_touch], LearnerProgress(), {}, said)["labs"]
    assert told["first_said"] == [
        {"kind": "question", "name": "q", "said": "b", "at": AT.isoformat(), "record": None}
    ]
    show_progress(make_console(), [first_touch], LearnerProgress(), {})
    assert "First said" not in capsys.readouterr().out
