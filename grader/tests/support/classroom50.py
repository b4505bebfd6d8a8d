"""What Classroom 50's runner gives to an autograder, and what it and its collection of scores take.

Both written from foundation50/classroom50 as of August 2026: schemas/result-v1.schema.json, and
what no schema can say from validate_result in cli/gh-teacher/skeleton/dotgithub/scripts/runner.py.
"""

from __future__ import annotations

from typing import Any

RUNNER = {
    "CLASSROOM": "pp",
    "ASSIGNMENT": "first-touch",
    "SUBMISSION_TAG": "submit/2026-10-06T21-31-07Z-1234567",
    "OWNER": "made-up-ada",
    "USERNAME": "made-up-ada",
    "ASSIGNMENT_TYPE": "individual",
    "COMMIT_URL": "https://github.example/made-up/pp-first-touch-made-up-ada/commit/1234567",
    "RELEASE_URL": "https://github.example/made-up/pp-first-touch-made-up-ada/releases/tag/x",
    "REVIEW_URL": "",
}

_TIME = r"^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$"
_TEXT = {"type": "string", "minLength": 1}
_COUNT = {"type": "integer", "minimum": 0}
_TEST = {
    "type": "object",
    "additionalProperties": True,
    "required": ["test-name", "passed", "score", "max-score"],
    "properties": {
        "test-name": _TEXT, "passed": {"type": "boolean"}, "score": _COUNT, "max-score": _COUNT
    },
}  # fmt: skip
_MUST = {
    "schema": {"const": "classroom50/result/v1"},
    "classroom": _TEXT,
    "assignment": _TEXT,
    "assignment_type": {"enum": ["individual", "group"]},
    "owner": _TEXT,
    "submission": {"type": "string", "pattern": "^submit/"},
    "commit": _TEXT,
    "release": _TEXT,
    "review": _TEXT,
    "datetime": {"type": "string", "pattern": _TIME},
    "score": _COUNT,
    "max-score": _COUNT,
    "tests": {"type": "array", "items": _TEST},
}
RESULT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": list(_MUST),
    "properties": _MUST | {"graded_at": {"type": "string", "pattern": _TIME}},
}


def check(result: dict[str, Any]) -> None:
    """What the schema can't say."""
    assert result["classroom"] == RUNNER["CLASSROOM"]
    assert result["assignment"] == RUNNER["ASSIGNMENT"]
    assert result["owner"] == RUNNER["OWNER"]
    assert result["assignment_type"] == RUNNER["ASSIGNMENT_TYPE"]
    for one in (result, *result["tests"]):
        assert type(one["score"]) is int and type(one["max-score"]) is int
        assert one["score"] <= one["max-score"]
