"""Whatever strangers write ends in a verdict or a refusal: no other exception, nothing that hangs,
no text that steers a terminal. NUMALAB_FUZZ_S=600 fuzzes each reader for so long."""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import link_answers
import link_questions
import pytest
from governor_answers import (
    KEYS,
    QUESTIONS,
    read_record_answers,
)
from governor_tree import PUBLISHED_SEED, make_recording
from hypothesis import strategies as st
from rich.console import Console
from support import invented
from support.deliveries import put, tar_bytes
from support.exports import (
    core,
    core_kind,
    distances,
    imported_text,
    machine,
    memory,
    thing,
)
from support.fuzzing import fuzz, only
from support.hostile_files import zip_of
from support.lab_folders import write_grading
from support.run_values import an_outcome

from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import escape_formula
from numalab.course.gradebook.rules import TEMPLATE, parse_rules
from numalab.course.intake.intake import import_submissions
from numalab.course.intake.layouts import read_layout
from numalab.course.intake.list_times import parse_time
from numalab.course.intake.student_list import read_student_list
from numalab.course.intake.trees import Entry
from numalab.course.intake.uploads import CollectionContext
from numalab.errors import NumalabError, UserError, wrapped
from numalab.grading import explanation, handed_files
from numalab.grading.stored_gradings import judge_again, read_grading
from numalab.harness import build, interface, kernel_texts, noted_accesses
from numalab.harness.race_coverage import unfollowed_complaint
from numalab.installation import Installation
from numalab.judging import explain
from numalab.labs import launch, prediction
from numalab.labs.declaration import Lab, load_lab
from numalab.labs.group_words import BadGroups, read_group_file
from numalab.labs.group_words import settings as group_settings
from numalab.labs.kernel_names import is_copy_name
from numalab.labs.launch_commands import LAUNCHERS
from numalab.labs.seeded_answers import BadAnswers
from numalab.machines.gallery import find_machine
from numalab.machines.topology import topology_of_machine
from numalab.reports import report
from numalab.untrusted import toml
from numalab.untrusted import xml as untrusted_xml
from numalab.untrusted.text_kinds import kind_of_text
from numalab.untrusted.visible import shown, visible, visible_lines

NASTY = ("\x1b[2J", "\x1b]52;c;eA==\x07", "\u202e", "\u200b", "\0", "\r", "\ud800", "9" * 5_000,
         "[" * 999, "{a=" * 300, "0x" + "f" * 5_000, "a." * 300, "1e999", "-0.0", "nan", '"""',
         "\\u001b", "=cmd|' /C calc'!A0", "../" * 20, "_", "\ufeff", "\u3164")  # fmt: skip
CHARACTERS = st.characters()
WORDS = st.one_of(st.text(CHARACTERS, max_size=20), st.sampled_from(NASTY))


@st.composite
def changed(draw: st.DrawFn, texts: list[str]) -> str:
    """A real text with pieces cut out, doubled and put in."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(text)))
        to = min(len(text), at + draw(st.integers(0, 12)))
        put_in = draw(st.one_of(WORDS, st.just(text[at:to] * 2), st.sampled_from("=[]{}.,#\n\"'0")))
        text = text[:at] + put_in + text[to:]
    return text


VALUES = st.recursive(
    st.one_of(
        st.integers(), st.floats(), st.booleans(), WORDS.map(json.dumps),
        st.sampled_from(
            ("2027-05-03", "07:00:00", "0x1F", '"core"', '"numa_node"', "1979-05-27T07:32:00Z")
        ),
    ).map(str),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda values: f"[{', '.join(values)}]"),
        st.dictionaries(st.sampled_from(("one_per", "a", "b")), inner, max_size=2).map(
            lambda values: "{" + ", ".join(f"{k} = {v}" for k, v in values.items()) + "}"
        ),
    ),
    max_leaves=8,
)  # fmt: skip


def tables(keys: list[str]) -> st.SearchStrategy[str]:
    """TOML texts with these keys, and any others."""
    key = st.one_of(st.sampled_from(keys), WORDS.map(json.dumps))
    lines = st.one_of(
        st.tuples(key, VALUES).map(" = ".join), key.map("[{}]".format), key.map("[[{}]]".format)
    )
    return st.lists(lines, max_size=8).map("\n".join)


def is_text(text: str) -> bool:
    """As a file in UTF-8 can hold it."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are short here, and a process for each would take the time of a hundred."""
    monkeypatch.setattr(toml, "why_not_readable", lambda text: "")
    monkeypatch.setattr(untrusted_xml, "parsed", untrusted_xml.parse)


# ---- TOML and placements -----------------------------------------------------------------------


def files_and_texts(
    labs: dict[str, Lab], installation: Installation, name: str
) -> tuple[list[Any], list[str]]:
    """Return the files of a kind or a goal, and texts of them."""
    files = [(lab, file) for lab in labs.values() for file in lab.files]
    found = [(lab, file) for lab, file in files if name in (file.kind, file.goal)]
    texts = [
        (folder / file.name).read_text()
        for lab, file in found
        for folder in (installation.lab_folder(lab.name), installation.solution_folder(lab.name))
    ]
    return [file for _, file in found], texts


def test_placements(installation: Installation, labs: dict[str, Lab]) -> None:
    files, texts = files_and_texts(labs, installation, "placement")
    policies, words = files_and_texts(labs, installation, "policy")
    words += ["NUMACTL=--membind=0-1,3", "NUMACTL=-p 1", "NUMACTL=--localalloc"]

    def check(text: str) -> None:
        for file in (*files[:2], *policies):
            complaint = handed_files.complaint_of(file, text)
            assert complaint is None or (complaint == visible(complaint) and len(complaint) < 800)

    lines = st.lists(st.tuples(WORDS, WORDS).map("=".join), max_size=5).map("\n".join)
    fuzz(st.one_of(changed(texts), changed(words), lines), check)


def test_control_groups(installation: Installation, labs: dict[str, Lab]) -> None:
    files, texts = files_and_texts(labs, installation, "groups")
    nodes = [topology_of_machine(find_machine(installation, name)) for name in ("hydra", "aurora")]

    def check(text: str) -> None:
        complaint = handed_files.complaint_of(files[0], text)
        assert complaint is None or (complaint == visible(complaint) and len(complaint) < 800)
        groups = only(BadGroups, lambda: read_group_file(text))
        assert (groups is None) == (complaint is not None)
        for node in nodes if groups is not None else ():
            settings = only(BadGroups, lambda node=node: group_settings(groups, node))
            # What goes to the monitor as a word of its command.
            assert all(
                re.fullmatch(r"[0-9,-]*|member|root|isolated", value) and len(value) < 65_536
                for _, _, value in settings or ()
            )

    words = st.sampled_from(("all", "node:last", "node:1", "0-3", "but", ",", " but ", "0-8191"))
    value = st.lists(words, max_size=5).map(lambda found: json.dumps(" ".join(found)))
    of_keys = st.lists(
        st.tuples(st.sampled_from(("[job]\ncpus", "mems", "[others]\nmems")), value).map(
            " = ".join
        ),
        max_size=3,
    ).map("\n".join)
    inputs = st.one_of(changed(texts), of_keys, tables(["job", "others", "cpus", "mems"]))
    fuzz(inputs.filter(is_text), check)


def test_answers_about_a_governor(installation: Installation, labs: dict[str, Lab]) -> None:
    files, texts = files_and_texts(labs, installation, "governor")

    def check(text: str) -> None:
        complaint = handed_files.complaint_of(files[0], text)
        assert complaint is None or (complaint == visible(complaint) and len(complaint) < 800)
        answers = only(BadAnswers, lambda: read_record_answers(text))
        assert (answers is None) == (complaint is not None)
        for question in QUESTIONS if answers is not None else ():
            given = answers.given[question.key]
            if given is not None:
                question.mistake(given, make_recording(PUBLISHED_SEED))

    fuzz(st.one_of(changed(texts), tables(["seed", *KEYS])).filter(is_text), check)


def test_launches(installation: Installation, labs: dict[str, Lab]) -> None:
    files, texts = files_and_texts(labs, installation, "launch")
    nodes = [
        topology_of_machine(find_machine(installation, name)) for name in ("hydra", "westmere-ex")
    ]

    def check(text: str) -> None:
        complaint = handed_files.complaint_of(files[0], text)
        assert complaint is None or (complaint == visible(complaint) and len(complaint) < 800)
        policy = only(launch.BadPolicy, lambda: launch.parse_policy(text, "launch.toml"))
        assert (policy is None) == (complaint is not None)
        for node in nodes if policy is not None and policy.ranks not in range(513, 10**6) else ():
            plan = only(launch.BadPolicy, lambda node=node: launch.plan(policy, node))
            if plan is not None:
                for render in (one.render for one in LAUNCHERS.values()):
                    command = only(launch.BadPolicy, lambda r=render, p=plan: r(p, ["x"]))
                    assert command is None or command.shell_line()
                assert all(line == visible(line) for line in launch.summary(plan))

    inputs = st.one_of(changed(texts), tables(list(launch.POLICY_KEYS)))
    fuzz(inputs.filter(is_text), check)


def test_predictions(installation: Installation, labs: dict[str, Lab]) -> None:
    _, texts = files_and_texts(labs, installation, "prediction")
    formulas = st.lists(
        st.one_of(
            st.sampled_from((*prediction.NAMES, *"+-*/() ", "1", "2.5", "**", "e", "0")), WORDS
        ),
        max_size=12,
    ).map("".join)  # fmt: skip
    keys = list(prediction.PREDICTED)
    quoted = formulas.map(lambda text: f"{keys[0]} = {json.dumps(text)}")
    values = {name: 0.7 * (number + 1) for number, name in enumerate(prediction.NAMES)}

    def check(text: str) -> None:
        try:
            found = prediction.read_predictions(text)
            assert found.formulas and found.formulas.keys() | found.complaints.keys() == set(keys)
            for formula in found.formulas.values():
                assert prediction.predict(formula, values) > 0
        except prediction.BadPrediction:
            return  # cleaned by whoever tells it

    fuzz(st.one_of(changed(texts), tables(keys), quoted).filter(is_text), check)


def test_rates(installation: Installation, labs: dict[str, Lab]) -> None:
    (file,), texts = files_and_texts(labs, installation, "rates")
    keys = ["seed", *link_questions.KEYS]

    def check(text: str) -> None:
        complaint = handed_files.complaint_of(file, text)
        assert complaint is None or (complaint == visible(complaint) and len(complaint) < 800)
        found = only(BadAnswers, lambda: link_answers.read_rates(text))
        assert (found is None) == (complaint is not None)
        if found is not None:
            asked = link_questions.draw_links(found.seed)
            for question in link_questions.QUESTIONS:
                given = found.given[question.key]
                assert given is None or given > 0
                if given is not None:
                    link_questions.mistake_in(question, given, asked)

    fuzz(st.one_of(changed(texts), tables(keys)).filter(is_text), check)


def test_courses(labs: dict[str, Lab]) -> None:
    keys = ["title", "counts", "late", "labs", "extension", "override", "student", "points", "at"]
    texts = [TEMPLATE, TEMPLATE.replace("\n# ", "\n")]

    def check(text: str) -> None:
        only(UserError, lambda: parse_rules(text, "course.toml", list(labs)))

    fuzz(st.one_of(changed(texts), tables(keys)).filter(is_text), check)


def test_labs(installation: Installation, labs: dict[str, Lab], tmp_path: Path) -> None:
    texts = [(installation.grading_folder(name) / "lab.toml").read_text() for name in labs]
    keys = ["name", "title", "criterion", "kind", "rule", "points", "launch", "file", "parts"]
    folder = tmp_path / "01_first_touch"

    def check(text: str) -> None:
        write_grading(folder, text)
        only(NumalabError, lambda: load_lab(folder))

    fuzz(st.one_of(changed(texts), tables(keys)).filter(is_text), check)


# ---- machines ----------------------------------------------------------------------------------


def test_exports_of_hwloc(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "node.xml"
    inside = memory(0, [0, 1]) + thing("Package", [0, 1], thing("L3Cache", [0, 1], core(0, 1)))
    texts = [
        machine([0, 1], inside, after=distances([0], [[10]]) + core_kind([0], 1, CoreType="x")),
        machine([0], memory(0, [0]) + core(0), version=""),
        machine([0], memory(0, [0]) + core(0)).replace("0x00000001", "0xf...f"),
        machine([0], memory(0, [0], 2**70) + core(0)),
    ]

    def check(text: str) -> None:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        made = only(UserError, lambda: imported_text(installation, path))
        assert made is None or made == visible_lines(made)

    fuzz(st.one_of(changed(texts), st.text(CHARACTERS)), check)


# ---- deliveries --------------------------------------------------------------------------------

PARTS = st.sampled_from(
    ("ada", "eve", "LATE", "1", "22", "anon", "_", "-", " ", ".", "assignsubmission", "file",
     "onlinetext", "text.html", "kernel.c", ".zip", ".tar.gz", "01_first_touch", "labs", "..",
     "\x1b[2J", "\u202e", "\n", "é", "\\", "kernel.f90", ".git", "__MACOSX")
)  # fmt: skip
NAMES = st.lists(PARTS, min_size=1, max_size=7).map("".join)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TOPS = NAMES.filter(lambda name: name not in (".", ".."))


@contextmanager
def a_class(files: dict[str, bytes]) -> Iterator[tuple[Path, CourseFolder]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = put(Path(scratch) / "delivery", files)
        yield folder, CourseFolder(Path(scratch) / "course")


def test_archives(labs: dict[str, Lab]) -> None:
    """Of any names and with any damage, beside an honest student's."""
    lab = {"01_first_touch": labs["01_first_touch"]}

    def check(value: tuple[list[str], bool, int, int]) -> None:
        names, is_zip, damage, chance = value
        packed = bytearray(
            zip_of(names)
            if is_zip
            else tar_bytes(dict.fromkeys(names, b"x"), ("", "gz")[chance % 2])
        )  # fmt: skip
        luck = random.Random(chance)
        for _ in range(damage):
            packed[luck.randrange(len(packed))] = luck.randrange(256)
        files = {"ada/kernel.c": b"int a;", f"eve{'.zip' if is_zip else '.tar.gz'}": bytes(packed)}
        with a_class(files) as (delivery, course):
            intake = import_submissions(delivery, course, lab, lambda _: None)
        assert "ada" in {one.student.id for one in intake.submissions}
        told = {one.student.id for one in (*intake.submissions, *intake.problems) if one.student}
        assert told == {"ada", "eve"}
        for text in (t for p in intake.problems for t in (p.source, p.why)):
            assert text == visible(text)
            assert len(text) < 4_000

    names = st.lists(PATHS, max_size=6)
    fuzz(st.tuples(names, st.booleans(), st.integers(0, 3), st.integers(0, 1 << 30)), check, 25)


def test_layouts() -> None:
    """One entry more changes nothing of what the others are."""
    honest = [Entry((name,), "folder") for name in ("ada", "bob", "cem")]

    def check(value: tuple[str, bool]) -> None:
        name, is_folder = value
        top = Entry((name,), "folder" if is_folder else "file")
        inside = [Entry((name, ".git"), "folder", folder=Path())] if is_folder else []
        found = read_layout([*honest, top, *inside], CollectionContext("class", {"kernel.c"}))
        assert found.name == "plain"
        assert [one.source for one in found.uploads][:3] == ["ada", "bob", "cem"]
        delivered = {one.source for one in found.uploads}
        assert name in delivered or shown(name) in {problem.source for problem in found.problems}
        for problem in found.problems:
            assert problem.why == visible(problem.why)

    fuzz(
        st.tuples(TOPS.filter(lambda name: name not in ("ada", "bob", "cem")), st.booleans()),
        check,
        200,
    )


def test_student_lists(tmp_path: Path) -> None:
    path = tmp_path / "students.csv"
    texts = [
        "id,name,email\na1,Ada,a@x\n",
        "Identifier,Full name,Email address,Last modified (submission)\nParticipant 7,Zoe,z@x,-\n",
        "Student,ID,SIS User ID\nPoints Possible,,\n\"Love, Ada\",7,8\n",
        "id;name;handed_in_at\n1;A;2026-01-31T18:00:00+01:00\n2;B;0001-01-01\n",
    ]  # fmt: skip

    def check(text: str) -> None:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        found = only(UserError, lambda: read_student_list(path))
        for line in found[0] if found else ():
            for value in (line.name, *line.external.values()):
                assert value == visible(value)
        assert found is None or all(text == visible(text) for text in found[1])

    fuzz(changed(texts), check, 80)


def test_texts_and_names_of_kernels() -> None:
    """What is no program's text, what a copy is called, and when Moodle says that it was made."""
    texts = [
        "/* x */\n#include \"first_touch.h\"\n<<<<<<< a\n=======\n>>>>>>> b\n",
        "<!-- x --><html>", '{"nbformat": 4}', "--- a\n+++ b\n", "```c\n", "kernel (1) (2).c",
        "Copy of kernel - Kopie (2).C", "Saturday, 21 November 2026, 11:30 PM",
    ]  # fmt: skip

    def check(text: str) -> None:
        for data in (text.encode("utf-8", "surrogatepass"), text.encode("utf-16", "replace")):
            kind = kind_of_text(data)
            assert kind is None or kind.why == visible(kind.why)
        assert is_copy_name(text, "kernel.c") in (True, False)
        found = parse_time(text, "en")
        assert found is None or found.tzinfo is None

    fuzz(changed(texts), check, 300)


# ---- records, and what other programs say ------------------------------------------------------


def places_of(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places of a record, of long lists the first few."""
    yield above
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:3] if isinstance(value, list) else ())
    )
    for key, each in inner:
        yield from places_of(each, (*above, key))


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), WORDS, st.just(10**30), st.just(-1),
    st.just([]), st.just({}), st.sampled_from(("ok", "crashed", "submission", "missing")),
)  # fmt: skip


def test_records(installation: Installation, labs: dict[str, Lab], tmp_path: Path) -> None:
    """With values changed anywhere: refused, or judged and shown."""
    golden = [
        json.loads(path.read_text()) for path in sorted(invented.GOLDEN.glob("*/evidence.json"))
    ]
    places = [list(places_of(record))[1:] for record in golden]
    path = tmp_path / "evidence.json"

    def check(value: tuple[int, list[tuple[int, Any]]]) -> None:
        number, changes = value
        record = json.loads(json.dumps(golden[number]))
        for where, new in changes:
            *outer, last = places[number][where % len(places[number])]
            holder = record
            for key in outer:
                known = isinstance(holder, dict | list) and (
                    key in holder if isinstance(holder, dict) else key < len(holder)
                )
                holder = holder[key] if known else {}
            if isinstance(holder, dict) or (
                isinstance(holder, list) and isinstance(last, int) and last < len(holder)
            ):
                holder[last] = new
        path.write_text(json.dumps(record))
        stored = only(UserError, lambda: read_grading(path, labs, is_foreign=True))
        kernel = only(UserError, lambda: judge_again(installation, stored)) if stored else None
        if kernel is not None:
            console = Console(file=io.StringIO(), width=80)
            report.show_verdict(console, kernel)
            said = console.file.getvalue()
            assert said == visible_lines(said)

    changes = st.lists(st.tuples(st.integers(0, 1 << 30), SCALARS), min_size=1, max_size=3)
    fuzz(st.tuples(st.integers(0, len(golden) - 1), changes), check, 12)


def test_what_launchers_and_kernels_print() -> None:
    texts = [
        "Abort(1) on node 3 (rank 3 in comm 0): Fatal error in internal_Send\n",
        "=" * 60 + "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 9\n",
        "OMP: Warning #1: x\nlibgomp: Invalid value for environment variable OMP_PLACES: y\n",
    ]

    def check(value: tuple[str, str, int]) -> None:
        printed, status, size = value
        detail = {"printed": printed, "printed_bytes": size, "doing": "compute",
                  "limit_bytes": size, "limit_s": 1.0, "resident_bytes": size, "exit_code": size,
                  "threads": size,
                  "limit_threads": size, "array_bytes": size, "limit_of": "cpu_time"}  # fmt: skip
        said = explain.outcome(an_outcome(status, **detail), "c")
        assert said is not None
        assert len(said) < 1_000

    endings = st.sampled_from(("exited", "too_much_output", "kit_error", "bad_protocol"))
    fuzz(st.tuples(changed(texts), endings, st.integers(0, 1 << 62)), check)


def test_what_compilers_and_linkers_say(first_touch: Lab) -> None:
    texts = [
        "FAILED: x.o\n/usr/bin/cc -c x\nkernel.c:3:1: error: 'x' undeclared\n  3 | x\n    | ^\n",
        "ld: undefined reference to `initialize'\nmultiple definition of `main'\n[1/2] x\nninja:\n",
        "void initialize (double *a, int n);\nvoid f (void (*g) (int));\n",
        "procedure name = initialize\nsymtree: 'a'|| symbol: 'a'\n  (DUMMY AS_ASSUMED_SHAPE)\n",
        "!$omp parallel\n! $omp do\n!omp x\n",
    ]  # fmt: skip

    def check(text: str) -> None:
        output = build.compiler_output(text, {"/a/kernel.c": "kernel.c"})
        assert output == visible_lines(output)
        assert len(output) < 15_000
        assert set(build._undefined(text, first_touch)) <= set(first_touch.functions)
        for note in kernel_texts.misspelt_directives(text, "fortran"):
            assert note == visible(note)
        interface.prototypes(interface._prototype_lines(text, first_touch.functions))
        interface._assumed_shape(text, "initialize")
        interface._pointers(text, "initialize")

    fuzz(changed(texts), check, 80)


def test_what_compilers_make_of_kernels() -> None:
    texts = [
        '\t.file 1 "kernel.c"\nf:\n\t.loc 1 2 3\n\tmovq\t%rax, 8(%rbx,%rcx,4)\n.L2:\n\tjne\t.L2\n',
        "f:\n\tleaq\tx+8(%rip), %rdi\n\tcall\t__tsan_write8@PLT\n\tmovl\t$1, %fs:x@tpoff\n",
        "\tlock xaddl\t%eax, (%rdi)\n\trep stosq\n\taddq\t$-8, %rsp\n\tpushq\t8(%rsp) # x\n",
    ]
    dumps = [
        "0000000000000004 l       .text\t0000000000000000 numalab_at_3\n",
        "Disassembly of section .text:\n   4:\tmov    QWORD PTR [rbx+rcx*4+0x8],rax\n   8:\tnop\n",
        "   c:\trep stos QWORD PTR es:[rdi],rax\n  10:\tvmaskmovpd YMMWORD PTR [rax],ymm0,ymm1\n",
    ]

    def check(value: tuple[str, str, str]) -> None:
        text, dump, instruction = value
        lines = text.split("\n")
        noted_accesses.read_dump(dump)
        instructions = {number: [instruction] for number in range(len(lines))}
        rewriting = noted_accesses.Rewriting(lines, instructions)
        left = iter(list(rewriting.lines()))
        assert all(line in left for line in lines)  # and calls between them
        for line in rewriting.unfollowed:
            said = unfollowed_complaint(line, "kernel.c")
            assert said is None or said == visible(said)

    whole = st.tuples(changed(texts), changed(dumps), changed(dumps))
    fuzz(whole, check, 80)


def test_explanations(tmp_path: Path) -> None:
    def check(text: str) -> None:
        (tmp_path / explanation.FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
        told = explanation.read_explanation(tmp_path)
        assert told == visible_lines(told)
        assert len(told) <= explanation.LONGEST
        assert 0 <= explanation.sentences(told) <= len(told)

    fuzz(st.lists(WORDS, max_size=9).map(" ".join).filter(is_text), check, 100)


def test_messages() -> None:
    def check(text: str) -> None:
        assert visible(visible(text)) == visible(text)
        assert visible(text).isprintable()
        told = wrapped(text)
        assert told == visible_lines(told)
        cell = escape_formula(text)
        assert not cell.lstrip(" \n").startswith(("=", "+", "-", "@"))

    fuzz(st.lists(WORDS, max_size=4).map("".join), check, 100)
