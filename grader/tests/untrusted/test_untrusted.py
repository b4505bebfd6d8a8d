"""Untrusted files by their names, their text as it is shown, and programs that look at them."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.hostile_files import put_no_files

from numalab.errors import wrapped
from numalab.files import NotPlain, read_plain, read_plain_text
from numalab.grading.file_choice import unchanged_files
from numalab.harness.build import build_kernel, compiler_output
from numalab.harness.interface import prototypes
from numalab.harness.kernel_texts import misspelt_directives
from numalab.installation import Installation
from numalab.labs.declaration import FILE_BYTES, Lab
from numalab.untrusted.tools import TOOL_LIMITS, TookTooLong, output_of, run_limited
from numalab.untrusted.visible import may_hide, shown, visible, visible_json, visible_lines

WHY = {
    "fifo": "is no plain file", "folder": "is a folder", "socket": "is no plain file",
    "link": "is a link", "dangling": "is a link", "loop": "is a link", "endless": "is a link",
    "sparse": "is larger than 1 MiB",
}  # fmt: skip


def test_only_files_are_read(tmp_path: Path) -> None:
    for kind, path in put_no_files(tmp_path, "kernel.c").items():
        with pytest.raises(NotPlain, match=WHY[kind]):
            read_plain(path, FILE_BYTES)


def test_links_of_our_own_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    (tmp_path / "link").symlink_to("there")
    assert read_plain_text(tmp_path / "link", 100, follow_links=True) == "a\nb\nc\n"
    made = put_no_files(tmp_path / "no", "x")
    with pytest.raises(NotPlain, match="is no plain file"):
        read_plain(made["endless"], 100, follow_links=True)
    with pytest.raises(NotPlain, match="is a link"):
        read_plain(made["loop"], 100, follow_links=True)
    with pytest.raises(FileNotFoundError):
        read_plain(made["dangling"], 100, follow_links=True)
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "there" / "below", 100)


def test_exactly_as_large_as_allowed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read_plain(tmp_path / "x", 5) == b"12345"
    with pytest.raises(NotPlain, match="is larger than 0 KiB"):
        read_plain(tmp_path / "x", 4)
    with pytest.raises(NotPlain, match="is larger"):
        read_plain(Path("/proc/self/status"), 10)  # which says that it has no byte


def test_a_submission_that_is_no_file_is_a_verdict(
    tmp_path: Path, installation: Installation, first_touch: Lab
) -> None:
    """Where a kernel is looked for; nothing is built, and nobody waits."""
    for kind, path in put_no_files(tmp_path, "kernel.c").items():
        build = build_kernel(installation, first_touch, "c", path.parent)
        assert (build.status, WHY[kind] in build.message) == ("missing", True)
        assert unchanged_files(installation, first_touch, "c", path.parent) == []
    (tmp_path / "linked").symlink_to(installation.solution_folder(first_touch.name))
    build = build_kernel(installation, first_touch, "c", tmp_path / "linked")
    assert "lies in a folder that is a link" in build.message


# ---- text ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain, with é and 李", "plain, with é and 李"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("a\u202eb\u2066", "a<U+202E>b<U+2066>"),
        ("zero\u200bwidth\ufeff", "zero<U+200B>width<U+FEFF>"),
        ("no\u00a0break\u3000wide", "no break wide"),
        ("\u3164\u2800\ufe0f", "<U+3164><U+2800><U+FE0F>"),
        ("\udcff\ud800", "\\xff<U+D800>"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\nb\u2028", "a\\x0ab<U+2028>"),
        ("\U000e0041\U0010ffff", "<U+E0041><U+10FFFF>"),
    ],
)
def test_what_steers_or_hides_is_shown(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert visible(seen) == seen


@pytest.mark.parametrize(
    ("text", "is_suspect"),
    [("plain \n", False), ("\b", True), ("\f", True), ("a\rb", True), ("\x1b", True), ("é", True)],
)
def test_json_with_what_steers_is_looked_through(text: str, is_suspect: bool) -> None:
    assert may_hide(json.dumps({"printed": text})) is is_suspect


def test_lines_stay_lines() -> None:
    assert visible_lines("a\tb\r\n\x1bc\rd\n") == "a       b\n\\x1bc\\x0dd\n"
    assert shown(("a\x1b", "b" * 99)) == "a\\x1b/" + "b" * 73 + "…"
    assert visible_json({"a": ["\x1b", 1, {"b": "\u202e"}]}) == {
        "a": ["\\x1b", 1, {"b": "<U+202E>"}]
    }
    assert wrapped("x \x1b[2J\nsecond\x07") == "x \\x1b[2J\nsecond\\x07"


def test_what_compilers_say_is_clean_and_short() -> None:
    said = "kernel.c:1: error: '\x1b]52;c;x\x07' \u202e\n\t| ^\n" + "y" * 100_000 + "\n"
    output = compiler_output(said, {})
    assert output == visible_lines(output)
    assert "\\x1b]52" in output
    assert max(map(len, output.splitlines())) <= 400


# ---- time and memory -------------------------------------------------------------------------

QUICK = replace(
    TOOL_LIMITS, computing_s=1, memory_bytes=256 << 20, file_bytes=1 << 20, output_bytes=1 << 10
)


def test_programs_come_to_their_end() -> None:
    assert output_of(["echo", "x"], QUICK) == "x\n"
    assert output_of(["sh", "-c", "while :; do :; done"], QUICK) == ""
    assert output_of(["sh", "-c", "echo x; exit 1"], QUICK) == ""
    assert output_of(["no such program"], QUICK) == ""
    code, said = run_limited(["yes"], QUICK)
    assert code != 0
    assert len(said) == 1 << 10
    hungry = ["python3", "-c", "x = bytearray(1 << 30); print(len(x))"]
    assert output_of(hungry, QUICK) == ""
    with pytest.raises(TookTooLong):
        run_limited(["sleep", "60"], replace(QUICK, wall_s=0.2))


def test_patterns_take_no_squares() -> None:
    """Texts that took minutes and more: a limit of seconds of computing tells."""
    before = time.process_time()
    assert misspelt_directives("!" + " " * 900_000 + "\n!" + " \t" * 400_000, "fortran") == []
    assert misspelt_directives("  ! $  omp parallel\n!$omp end\n", "fortran") != []
    assert prototypes("void f(int n);") != {}
    assert time.process_time() - before < 5
