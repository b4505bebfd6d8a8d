"""What a placement would cost on another machine: modelled by that machine's published rates, never
timed, never graded.

Imported by `commands` (a machine's page), `explore` (rates of pairs of NUMA nodes), `grading`
(modelled times beside a verdict) and `reports` (their tables).
"""
