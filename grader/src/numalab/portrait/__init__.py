"""The portrait of a machine: latencies and rates of its caches, memory and links, measured.

Imported by `commands` (portrait, explore 05) and `reports` (its page and figures).
"""
