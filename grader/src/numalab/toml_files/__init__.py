"""TOML files, read so that a mistake is reported with its file and line.

Imported by most packages: it reads every file that people write by hand.
"""
