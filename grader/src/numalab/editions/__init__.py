"""Student copies: copies of numalab without the text of solutions, which grade alike.

Imported by `commands` alone: edition.
"""
