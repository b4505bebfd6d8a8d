"""The grader of numalab: build a kernel, have it measured, judge the record.

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
    """Open a lab by its name or number, or your variant by its name. What that needs is imported
    here, so that importing numalab stays cheap. Raises UserError, NumalabError and OSError."""
    from numalab.learning.api import find_lab

    return find_lab(name)


def load_ipython_extension(shell: Any) -> None:
    """Add numalab's magics to IPython; %load_ext numalab calls this."""
    from numalab.learning import notebook

    notebook.load_ipython_extension(shell)
