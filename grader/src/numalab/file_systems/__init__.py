"""Locks on files and room for files, which a file system may lack.

Imported by most packages: they write files, and a cluster's home folder may lack either.
"""
