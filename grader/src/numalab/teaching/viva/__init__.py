"""Questions for an oral exam of five minutes, by a student's own attempts.

Imported by `commands` alone: viva.
"""
