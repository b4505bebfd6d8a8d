"""Build kernels, alone or in a sandbox, and run monitors: the only place that starts them.

Imported by most packages that build or run something of numalab's.
"""
