"""Writes into grader/requirements*.txt, below each pin, the hashes of all its files on PyPI, for
every platform, so that pip takes no others. Needs uv on PATH and a network; comments stay.

    .venv/bin/python grader/bench/hash_requirements.py
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

GRADER = Path(__file__).resolve().parents[1]
# The oldest Python that numalab runs with.
_UV = ("uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-deps", "--universal",
       "--python-version", "3.11", "--no-annotate", "--no-header")  # fmt: skip


def name_of(pin: str) -> str:
    """As the index has it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", pin.partition("==")[0].strip()).lower()


def hashes_of(resolved: str) -> dict[str, list[str]]:
    """By name, of what uv has printed."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in resolved.splitlines():
        if "==" in line:
            name = name_of(line)
        elif "--hash=" in line:
            found.setdefault(name, []).append(line.strip(" \\"))
    return found


def hashed(text: str, hashes: dict[str, list[str]]) -> str:
    """The file with the hashes of its pins; KeyError where one has none."""
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith("--hash="):
            continue
        if "==" not in line or line.startswith("#"):
            lines.append(line)
            continue
        pin = line.rstrip(" \\")
        lines.append(" \\\n    ".join([pin, *hashes[name_of(pin)]]))
    return "\n".join(lines) + "\n"


def main() -> int:
    for path in sorted(GRADER.glob("requirements*.txt")):
        text = path.read_text("utf-8")
        pins = "\n".join(line.rstrip(" \\") for line in text.splitlines() if "==" in line)
        done = subprocess.run(
            [*_UV, "-"], input=pins, capture_output=True, text=True, check=False
        )  # fmt: skip
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr)
            return 1
        path.write_text(hashed(text, hashes_of(done.stdout)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
