"""NUMA machines as data: their descriptions, pictures of them, and imports from hwloc."""
