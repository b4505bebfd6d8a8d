"""Untrusted input: read with limits, mostly in processes of its own, and made visible before it is
shown.

Imported by most packages: they read hand-ins, records or exports, or show texts from them.
"""
