"""The command line: one file per command or group, each a thin face of a library below.

Imported by `__main__`, which starts it.
"""
