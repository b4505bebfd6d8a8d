"""Questions for an oral exam of five minutes, made of a student's own attempts.

Imported by `commands` alone: viva.
"""
