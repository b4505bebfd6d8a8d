"""What an instructor gets for a lesson, made from the files of its lab.

Imported by `commands` alone: notes, viva.
"""
