"""The grader of numalab: builds a kernel, has it measured, judges the record."""

__version__ = "0.1.0"
