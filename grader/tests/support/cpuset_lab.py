"""A lab of criteria on control groups alone, and a file that reaches what they ask for."""

from __future__ import annotations

FILE = "cpuset.toml"
RULES = {"confined": 1.0, "memory_confined": 0.95, "others_out": 1.0}
HEAD = """
title = "Sets"
minutes = 1
languages = ["c"]
contract = "x.h"
functions = ["compute"]
"""
CRITERIA = "".join(
    f"""
[[criterion]]
name = "{name}"
kind = "evidence"
points = 1
at_least = {least}
needs_numa_nodes = 2
on_machines = true
file = "{FILE}"
goal = "job_on_last_node"
"""
    for name, least in RULES.items()
)
RIGHT = """
[job]
cpus = "node:last"
mems = "node:last"
[others]
cpus = "all but node:last"
mems = "all but node:last"
"""
