"""Takes what the figures need from a node's gradings into evidence/, for all who get the kit.

    python slides/keep_records.py build/gnu/results

evidence/README.md says what to grade and explore before. Records that are not there are left as
they are. Instructors do not need this: `cmake --build --preset slides-own` takes their results
as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from numalab.errors import NumalabError, reason_of
from numalab.evidence.read_record import record_of
from numalab.evidence.record import SOLUTION, Json
from numalab.files import write_whole

SOURCE = Path(__file__).resolve().parent

# Kinds of runs that figures show, by record.
KINDS = {
    "01_first_touch/c/handout": ("generation",),
    "01_first_touch/c/handout/on_hydra": ("trace",),
    "01_first_touch/c/handout/on_nebula": ("trace",),
    "02_affinity/c/submission/on_hydra": ("binding",),
    "03_scheduling/c/handout": ("placement",),
    "04_huge_pages/c/handout": ("memory",),
    "06_message_latency/c/handout": ("latency",),
    "06_message_latency/c/handout/on_nebula": ("ranks",),
    "07_hybrid/c/handout": ("generation",),
    "07_hybrid/c/handout/on_nebula": ("ranks",),
}
# Where the solution puts its threads and ranks is for students to find out.
STUDENTS_OWN = ("ranks", "binding", "trace", "placement")
EXPLORATIONS = ("02_affinity", "03_scheduling", "04_huge_pages")


def kept(record: Json, kinds: Sequence[str]) -> Json:
    """The record with the runs of these kinds only."""
    runs = [
        run
        for run in record["runs"]
        if run["kind"] in kinds
        and not (run["kind"] in STUDENTS_OWN and run.get("role") == SOLUTION)
    ]
    return record | {"node": _short_kernel(record["node"]), "runs": runs}


def _short_kernel(node: Json) -> Json:
    """Of the kernel's version the numbers; what a site adds to them is nobody's business."""
    return node | {"kernel": node["kernel"].partition("-")[0]}


def text_of(record: Json, many: str) -> str:
    """With a line for each entry of one list, so that changes can be seen."""
    head = json.dumps({key: value for key, value in record.items() if key != many})
    entries = ",\n".join(json.dumps(entry) for entry in record[many])
    return f'{head[:-1]},\n"{many}": [\n{entries}\n]}}\n'


def keep(results: Path, folder: Path) -> list[Path]:
    """Returns what was written. Raises NumalabError, OSError."""
    written = []
    for name, kinds in KINDS.items():
        source = results / name / "evidence.json"
        if source.is_file():
            record = kept(json.loads(source.read_text(encoding="utf-8")), kinds)
            record_of(record)
            written.append(_write(folder / name / "evidence.json", text_of(record, "runs")))
    for lab in EXPLORATIONS:
        source = results / "explore" / f"{lab}.json"
        if source.is_file():
            found = json.loads(source.read_text(encoding="utf-8"))
            found |= {"node": _short_kernel(found["node"])}
            virtual = found.get("virtual")
            if virtual and virtual["node"]:
                found["virtual"] = virtual | {"node": _short_kernel(virtual["node"])}
            written.append(_write(folder / "explore" / f"{lab}.json", text_of(found, "samples")))
    return written


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return path


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    try:
        written = keep(Path(arguments[0]), SOURCE / "evidence")
    except NumalabError as error:
        print(f"slides: {error}", file=sys.stderr)
        return 3
    except (OSError, json.JSONDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        print(f"slides: {reason}", file=sys.stderr)
        return 3
    for path in written:
        print(path.relative_to(SOURCE))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
