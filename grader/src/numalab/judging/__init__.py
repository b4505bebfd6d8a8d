"""From evidence to verdicts.

Imported by most packages that deal with verdicts.
"""
