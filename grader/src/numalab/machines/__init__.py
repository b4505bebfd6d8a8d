"""NUMA machines as data: their descriptions, pictures of them, and imports from hwloc.

Imported by most packages: what runs, judges or shows asks for a topology.
"""
