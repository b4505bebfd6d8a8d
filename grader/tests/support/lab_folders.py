"""What the grader reads of a lab, in a kit that a test makes."""

from __future__ import annotations

from pathlib import Path

from numalab.installation import GRADING


def write_grading(lab: Path, text: str, name: str = "lab.toml") -> Path:
    """Write a file of a lab's grading/, and return its path. lab: the lab's folder, which is made
    where there is none."""
    path = lab / GRADING / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path
