"""Locks on files and room for files, which a file system may lack.

Imported by packages that lock files or check for room, and by errors.py, which most packages
import: a cluster's home folder may lack either.
"""
