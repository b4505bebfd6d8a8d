"""Verdicts and evidence shown: tables and pictures for the terminal, figures, pages.

Imported by `commands`, `course` (pages of a class, comments on grades), `diagnosing` (evidence
without its verdict), `learning` (figures in notebooks) and `teaching` (an examiner's sheet).
"""
