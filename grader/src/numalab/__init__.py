"""The grader of numalab: builds a kernel, has it measured, judges the record.

In a notebook or a script:

    import numalab

    lab = numalab.lab("01_first_touch")
    run = lab.run("c")
    run.touch_map()
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """numalab.lab is imported when it is asked for, so that this import stays cheap."""
    if name == "lab":
        from importlib import import_module

        return import_module("numalab.lab")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
