"""Student's editions: copies of the kit without the text of solutions, which grade alike.

Imported by `commands` alone: edition.
"""
