"""Material for instructors, made from the files of a lab: lesson notes, exams, oral exams.

Imported by `commands` alone: notes, viva.
"""
