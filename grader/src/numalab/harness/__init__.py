"""Builds kernels, alone or in a sandbox, and runs monitors. The only place that starts them.

Imported by most packages that build or run something of numalab's.
"""
