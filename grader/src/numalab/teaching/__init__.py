"""Material for instructors: a lab's lesson notes with exam questions, and oral exams.

Imported by `commands` alone: notes, viva.
"""
