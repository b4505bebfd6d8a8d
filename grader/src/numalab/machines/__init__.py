"""NUMA machines as data: their descriptions, pictures of them, and imports from hwloc.

Imported by most packages: what runs, judges or shows something needs a topology.
"""
