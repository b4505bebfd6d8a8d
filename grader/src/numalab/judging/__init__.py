"""From evidence to verdicts: pure functions over records.

Imported by most packages that deal with verdicts.
"""
