"""Cases for diagnosis: a known mistake has to be recognised by its report.

Imported by `commands` (diagnose, grade), `learning` (in notebooks) and `teaching` (exam questions
of the same mistakes).
"""
