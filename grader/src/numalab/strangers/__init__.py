"""Strangers' bytes, read by libraries and programs that are not ours: apart, and with limits.

Imported by most packages: whatever reads a hand-in reads it by these.
"""
