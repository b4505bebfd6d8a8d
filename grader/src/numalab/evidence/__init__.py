"""The format of gradings' records, which the monitor and the grader write, and the evidence that is
read from them.

Imported by most packages: whatever judges, shows or explains evidence reads these records.
"""
