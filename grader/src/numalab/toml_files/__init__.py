"""TOML files, read so that a mistake is reported with its file and line.

Imported by packages that read TOML files, among them `labs`, which most packages import.
"""
