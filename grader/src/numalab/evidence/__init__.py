"""The format of records, and the evidence that is read from them. The only bridge from C.

Imported by most packages: whatever judges, shows or explains evidence reads these records.
"""
