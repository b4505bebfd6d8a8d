"""Modelled times: what a placement would take on another machine by that machine's published rates;
never timed, never graded.

Imported by `commands` (a machine's page), `explore` (rates of pairs of NUMA nodes), `grading`
(modelled times beside a verdict) and `reports` (their tables).
"""
