"""Cases for diagnosis: a known mistake has to be recognised by its report.

Imported by `commands` (diagnose, grade, a course's rules), `learning` (in notebooks and scripts)
and `teaching` (the same mistakes in notes and exams).
"""
