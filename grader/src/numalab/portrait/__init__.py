"""The portrait of a node: what its caches, memory and links can do, measured by the probe.

Imported by `commands` (portrait, explore 05) and `reports` (its page and figures).
"""
