"""The grader of numalab: builds a kernel, has it measured, judges the record.

In a notebook or a script:

    import numalab

    lab = numalab.lab("01_first_touch")
    run = lab.run("c")
    run.touch_map()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numalab.learning.api import OpenLab

__version__ = "0.1.0"


def lab(name: str) -> OpenLab:
    """Opens a lab by its name or number; what that needs is imported then, so that importing
    numalab stays cheap. Raises UserError."""
    from numalab.learning.api import open_lab

    return open_lab(name)
