"""Slurm's login nodes, on which nothing is timed."""

from __future__ import annotations

import os
import shutil


def on_login_node() -> bool:
    """Slurm is here and no job is running."""
    return bool(shutil.which("sinfo")) and "SLURM_JOB_ID" not in os.environ


def refusal(command: str) -> str:
    """Why the command takes no times there."""
    return (
        "This looks like a login node: Slurm is here and no job is running. Nothing is timed "
        f"on it; use a job (srun --exclusive -N1 ./numalab {command}), or --force."
    )
