"""Grade submissions, from files to verdict: gather evidence and take times, on this machine and on
virtual machines, for each lab and language.

Imported by most packages above it: a grading is what they start, show or keep.
"""
