"""The grader of numalab: builds a kernel, has it measured, judges the record.

In a notebook or a script:

    import numalab

    lab = numalab.lab("01_first_touch")
    run = lab.run("c")
    run.touch_map()

In a notebook, %load_ext numalab adds what its cells need (learning/notebook.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numalab.learning.api import LearnerLab

__version__ = "0.2.0"  # the one place that it is read from


def lab(name: str) -> LearnerLab:
    """Opens a lab by its name or number; what that needs is imported then, so that importing
    numalab stays cheap. Raises UserError."""
    from numalab.learning.api import find_lab

    return find_lab(name)


def load_ipython_extension(shell: Any) -> None:
    """What %load_ext numalab does."""
    from numalab.learning import notebook

    notebook.load_ipython_extension(shell)
