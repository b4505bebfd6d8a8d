"""Build kernels, in a sandbox or in none, and run monitors.

Imported by most packages that build or run something of numalab's.
"""
