"""Labs as they are declared: criteria, files that are handed in, hints, variants.

Imported by most packages: most of what is done is done for a lab.
"""
