"""Inverse labs: a known mistake is to be told from its report.

Imported by `commands` (diagnose, grade), `learning` (in notebooks) and `teaching` (exam questions
of the same mistakes).
"""
