"""Untrusted input: read in processes of its own, with limits, and made visible before it is shown.

Imported by most packages: they read hand-ins, records or exports, or show texts from them.
"""
