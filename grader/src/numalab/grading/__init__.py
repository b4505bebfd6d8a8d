"""One submission from files to verdict: what looks at it, what times it, where, and the loop over
labs and languages.

Imported by most packages above it: a grading is what they start, show or keep.
"""
