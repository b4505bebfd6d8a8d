"""Prove that this version judges, says and draws from seeds what an earlier commit does.

    python grader/bench/same_verdicts.py fcfda5fb
    python grader/bench/same_verdicts.py fcfda5fb --records build/wrong_records

Each version runs in a process of its own with its own package, the earlier one in a copy of its
commit; what they print and write is compared. Nothing is built or measured. By kind:

records    kept gradings that the commit has, and those below each folder of --records: the report
           with --explain, and the JSON
slides     all figures, those of the commit's records and explorations among them
machines   report and picture of each machine of the gallery, and of those made from seeds
variants   of each lab and seed the student's files, the lab and the solution
cases      of each lab and seed the case for diagnosis: kernel, questions, choices, answers

Ends with 1 where something differs, or where a version refuses what it is given. README.md says
how records of wrong submissions are made.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from former_digests import ROOT, copy_of_commit, with_names_at

from numalab.labs.code_tokens import c_tokens

KINDS = ("records", "slides", "machines", "variants", "cases")

# What may differ: a former text, and what stands in its place now. Blanks and line ends are one
# blank each, in C the tokens have one between them. Rows are applied in this order.
RENAMED = {
    '"kit_version": "0.1.0"': '"kit_version": "0.2.0"',
    "asked_slots.h": "query_slots.h",
    "FALSE_SHARING_ASKED_SLOTS_H": "FALSE_SHARING_QUERY_SLOTS_H",
    # labs/09_interconnect: a rule of its own, and two locals.
    'kit_parts = ["rates"] [[criterion]]': (
        'kit_parts = ["rates"] # A kernel is also an MPI job on two nodes. link_job = true '
        "[[criterion]]"
    ),
    "const uint64_t since = seen -> words [ i ] ? numalab_random_next ( random ) % ( seen -> words "
    "[ i ] + 1 )": (
        "const uint64_t words = seen -> words [ i ] ; const uint64_t since = words ? "
        "numalab_random_next ( random ) % ( words + 1 )"
    ),
    "seen -> moments_ms [ i + 1 ] = seen -> moments_ms [ i ] + draw_interval_ms ( & seen -> port , "
    "& random )": (
        "const int64_t interval_ms = draw_interval_ms ( & seen -> port , & random ) ; "
        "seen -> moments_ms [ i + 1 ] = seen -> moments_ms [ i ] + interval_ms"
    ),
}
# Identifiers of C files that no student edits, each with what may stand in its place.
C_NAMES = """
AFTER: SUMS; ASKED: REQUEST_LENGTH; ASKED_ARRAY: REQUEST; EXIT_WRONG: EXIT_MISMATCH
LOOK_MS: POLL_MS; NUMALAB_BEFORE_PATTERN: NUMALAB_GUARD_PATTERN
NUMALAB_MOST_TOLD: NUMALAB_MAX_ANSWERS; OF_MOVABLE: REPEATS_IF_MOVABLE
OF_THE_FIELD: FIELD_VALUES; STOLEN: STEAL; above: upper; after: following; ask: query_location
asked: answers options request thread_answers; at_once: starts_stopped; before: previous
below: lower; between: draw_between; by: increment; by_static: static_share
count_wrong: compare_exact; first_told: first_answer; found: actual received
found_pointer: actual_pointer; from: start; from_the_ends: fit_line
has_one_meaning: is_unambiguous; initial_asked: initial_request
is_right: is_equal is_result_correct matches_exactly; is_told: is_decidable
is_wrong: differs is_mismatch; look: inspect_buffer; looked_usual: seems_usual
nothing_wrong: accept_all; numalab_changed_entry: numalab_changed_add
numalab_changed_within: numalab_changed_collect
numalab_mismatch_of_signed: numalab_make_signed_mismatch
numalab_mismatch_of_unsigned: numalab_make_unsigned_mismatch
numalab_placing: numalab_memory_policy; numalab_watching: numalab_stop_detection; of: element
of_each: series_per_kind; of_rank: select_rank; on_stack: is_on_stack
one_hit_kind: single_hit_kind; one_way_us: measure_latency_us; own: row; placing: memory_policy
product_is_right: is_product_correct; roll: thread_nodes; roll_phase: thread_nodes_phase
rows_are_one_stop: merge_stop_rows; said: reported; seen: sent series; seen_pu: observed_pu
stolen: steal; tell: solve; tell_chase: measure_chase; tell_triad: measure_triad
tells_apart: is_distinguishing; tells_place: reveals_address; test_for: keep_testing
told: accepted answer; told_count: answer_count; told_ms: periods_ms; watching: stop_detection
whole_between: draw_whole_between; wrong: mismatches; wrong_items: count_mismatches
wrong_rest: foreign_bytes
"""
NAMES = {
    former: now.split()
    for former, now in (row.split(": ") for row in re.split(r"; |\n", C_NAMES.strip()))
}

# A version's command line, one command after the other in the current folder.
RUN_COMMANDS = """
import contextlib, io, json, runpy, sys
shown = []
for arguments in json.load(sys.stdin):
    sys.argv = ["numalab", *arguments]
    text = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            runpy.run_module("numalab", run_name="__main__")
        except SystemExit as ended:
            print("exit code", ended.code, file=text)
    text.flush()
    shown.append(text.buffer.getvalue().decode())
json.dump(shown, sys.stdout)
"""
# Misuse, or no verdict at all: what fails for numalab's own reasons has a report, and ends with 3.
REFUSED = re.compile(r"exit code 2\n\Z|\Anumalab: [^\0]*exit code 3\n\Z")


def describe(root: str, seeds: int) -> None:
    """Draw the slides' figures and print the cases for diagnosis, which no command shows without a
    run. Its source is run with each version's package."""
    import json
    from dataclasses import astuple
    from pathlib import Path

    from figures import FIGURES, draw

    from numalab.diagnosing.case import labs_with_cases, make_case
    from numalab.installation import Installation
    from numalab.judging.rules import load_labs
    from numalab.labs.seeds import Seed

    list(draw(sorted(FIGURES), Path("slides"), None))
    installation = Installation(Path(root))
    labs, shown = load_labs(installation.root), {}
    for lab in labs_with_cases(installation):
        for seed in range(1, seeds + 1):
            case = make_case(installation, labs[lab], Seed(seed, "somebody"))
            parts = (case.kernel, case.language, case.machine_seed, case.size_seed)
            questions = [astuple(question) for question in case.questions]
            shown[f"cases {lab} {seed}"] = json.dumps([*parts, questions], indent=0)
    print(json.dumps(shown))


# ---- what both are given -----------------------------------------------------------------------


def copy_records(folder: Path, work: Path) -> Iterator[tuple[str, Path]]:
    """Copy each kept grading below a folder into a folder of its own below work; yield its name and
    the copy. One of a virtual machine alone gets a record without runs above it: that is how the
    command judges it."""
    for path in sorted(folder.rglob("*.json")):
        try:
            record = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue  # damaged on purpose, by a test
        if not (isinstance(record, dict) and {"lab", "node", "runs"} <= record.keys()):
            continue
        name = path.relative_to(folder).as_posix()
        copy = work / name.replace("/", "+")
        if (machine := record.get("machine")) is None:
            shutil.copytree(path.parent, copy, symlinks=True)
            yield name, copy / path.name
        elif path.name != "evidence.json" or not (path.parents[1] / path.name).is_file():
            own = copy / f"on_{machine['name']}" / "evidence.json"
            own.parent.mkdir(parents=True)
            shutil.copyfile(path, own)
            empty = record | {"machine": None, "runs": []}
            empty.pop("elsewhere", None)
            (copy / "evidence.json").write_text(json.dumps(empty), "utf-8")
            yield name, copy


def commands_for(former: Path, records: Mapping[str, Path], seeds: int) -> dict[str, list[str]]:
    """Return the command lines by kind and name. former: the root of the earlier version."""
    commands = {}
    for name, path in records.items():
        into = f"records {name.replace('/', '+')}"
        commands[f"records {name}"] = ["grade", "--from", str(path), "--explain", "--json", into]
    gallery = sorted(path.stem for path in former.glob("common/machines/*.toml"))
    seeded = [f"seeded-{number}" for number in range(1, seeds + 1)]
    for name in (*gallery, *seeded):
        more = ["--answers" if name in seeded else "--published", "--svg", f"machines {name}.svg"]
        commands[f"machines {name}"] = ["machine", "show", name, *more]
    commands |= {f"machines {name}, asked": ["machine", "questions", name] for name in seeded}
    for draws in sorted(former.glob("labs/**/variant/draws.toml")):
        lab = draws.relative_to(former / "labs").parts[0]
        for seed in map(str, range(1, seeds + 1)):
            more = ["--seed", seed, "--out", f"variants own {seed}"]
            commands[f"variants {lab} {seed}"] = ["variant", lab, *more]
    return commands


# ---- one version -------------------------------------------------------------------------------


def outputs_of(root: Path, commands: Mapping[str, Sequence[str]], seeds: int) -> dict[str, str]:
    """Return what the version below root prints and writes, by kind and name. Raises
    CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix="numalab-") as folder:
        environment = {
            "PATH": os.environ["PATH"], "HOME": folder, "TZ": "UTC", "LANG": "C.UTF-8",
            "PYTHONPATH": f"{root / 'grader/src'}:{root / 'slides'}", "PYTHONUTF8": "1",
            "NUMALAB_ROOT": str(root), "NUMALAB_BUILD": f"{folder}/built",
        }  # fmt: skip

        def run(code: str, given: object) -> Any:
            done = subprocess.run(
                [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True,
                input=json.dumps(given), cwd=folder, env=environment,
            )  # fmt: skip
            return json.loads(done.stdout)

        texts = run(RUN_COMMANDS, [*commands.values()])
        outputs: dict[str, str] = dict(zip(commands, texts, strict=True))
        source = f"{inspect.getsource(describe)}\ndescribe({str(root)!r}, {seeds})"
        outputs |= run(with_names_at(root, source), None)
        for path in Path(folder).rglob("*"):
            if path.is_file() and not path.is_symlink():
                text = path.read_bytes().decode("utf-8", "surrogateescape")
                outputs[name_of_file(path.relative_to(folder).as_posix())] = text
    return {
        name: text.replace(str(root), "ROOT").replace(folder, "WORK")
        for name, text in outputs.items()
        if name.partition(" ")[0] in KINDS
    }


def name_of_file(path: str) -> str:
    """Return the name under which a file is compared: without a digest of contents in a folder's
    name, and without grading/, which a lab's folder did not always have."""
    path = re.sub(r"-[0-9a-f]{12}/", "/", path).replace("grading/", "")
    path = re.sub("^slides/", "slides ", re.sub("^built/variants/", "variants ", path))
    for former, now in RENAMED.items():
        path = path.replace(former, now)
    return path


# ---- comparison --------------------------------------------------------------------------------


def words_of(name: str, text: str) -> str:
    is_c = name.endswith((".c", ".h"))
    return " ".join(token for token in (c_tokens(text) if is_c else text.split()) if token != "\n")


def first_difference(name: str, former: str, now: str) -> str:
    """Return where two texts of this name differ first in more than what is permitted, with the
    words around; "": nowhere."""
    text = words_of(name, former)
    for one, other in RENAMED.items():
        text = text.replace(one, other)
    names = NAMES if name.endswith((".c", ".h")) else {}
    before, after = text.split(" "), words_of(name, now).split(" ")
    for at in range(max(len(before), len(after))):
        a, b = (" ".join(words[at : at + 1]) for words in (before, after))
        if a != b and b not in names.get(a, ()):
            around = [" ".join(words[max(0, at - 6) : at + 7]) for words in (before, after)]
            return f"... {around[0]} ...\n    is ... {around[1]} ..."
    return ""


def compare(former: Mapping[str, str], now: Mapping[str, str]) -> tuple[int, int, dict[str, str]]:
    """Return how many outputs are equal byte by byte, how many but for what is permitted, and by
    name how others differ."""
    equal, renamed, differing = 0, 0, {}
    for name in sorted(former.keys() | now.keys()):
        if name not in now or name not in former:
            differing[name] = f"there {'formerly' if name in former else 'now'} only"
        elif REFUSED.search(now[name]):
            differing[name] = f"refused: {now[name]}"
        elif former[name] == now[name]:
            equal += 1
        elif difference := first_difference(name, former[name], now[name]):
            differing[name] = difference
        else:
            renamed += 1
    return equal, renamed, differing


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("commit", help="the last one before the change that is to be proved equal")
    parser.add_argument("--records", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="1 to N; default: 20")
    parser.add_argument("--all", action="store_true", help="show all that differs, not only three")
    options = parser.parse_args()
    with (
        copy_of_commit(options.commit) as former,
        tempfile.TemporaryDirectory(prefix="numalab-") as work,
    ):
        records = dict(copy_records(former, Path(work) / "stored"))
        for number, folder in enumerate(options.records):
            found = copy_records(folder.resolve(), Path(work) / str(number))
            records |= {f"{folder}/{name}": path for name, path in found}
        commands = commands_for(former, records, options.seeds)
        before, now = (outputs_of(root, commands, options.seeds) for root in (former, ROOT))
    code = 0
    for kind in KINDS:
        of_kind = (
            {name: text for name, text in outputs.items() if name.startswith(f"{kind} ")}
            for outputs in (before, now)
        )
        equal, renamed, differing = compare(*of_kind)
        code = code if equal + renamed and not differing else 1
        print(f"{kind}: {equal} equal, {renamed} but for names, {len(differing)} differ")
        for name, difference in [*differing.items()][: None if options.all else 3]:
            print(f"  {name}:\n    {difference}")
    return code


if __name__ == "__main__":
    sys.exit(main())
