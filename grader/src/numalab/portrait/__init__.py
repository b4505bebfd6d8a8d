"""The portrait of a node: what its caches, memory and links can do, measured by the probe."""
