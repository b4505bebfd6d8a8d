"""A course's secret: made once, kept private, and told where it is spoilt."""

from __future__ import annotations

import stat

from support.golden_texts import raises_text

from numalab.course.course_folder import CourseFolder
from numalab.course.secret import read_secret, seed_of
from numalab.errors import UserError
from numalab.labs.seeds import DRAWS, personal_seed


def test_it_is_made_once_and_for_its_owner(tmp_path):
    course = CourseFolder(tmp_path / "courses" / "2027")
    secret = read_secret(course)[0]
    assert len(secret) == 32
    assert read_secret(course)[0] == secret
    assert stat.S_IMODE(course.secret.stat().st_mode) == 0o600
    assert read_secret(CourseFolder(tmp_path / "other"))[0] != secret
    assert seed_of(course, "ada") == personal_seed(secret, "ada")


def test_a_course_that_was_begun_before_keeps_its_variants(tmp_path):
    course = CourseFolder(tmp_path / "course")
    secret = read_secret(course)[0]
    assert seed_of(course, "ada").draws == DRAWS
    course.secret.write_text(f"{secret.hex()}\n")
    assert read_secret(course)[0] == secret
    assert seed_of(course, "ada") == personal_seed(secret, "ada", 1)
    course.secret.write_text(f"{secret.hex()}\ndraws {DRAWS + 1}\n")
    with raises_text(UserError):
        seed_of(course, "ada")


def test_a_spoilt_one_is_told(tmp_path):
    course = CourseFolder(tmp_path)
    course.secret.write_text("abc\n")
    with raises_text(UserError):
        read_secret(course)[0]
