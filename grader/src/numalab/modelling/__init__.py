"""Modelled times: what a placement would take by the rates of a machine's parts; never graded.

Imported by `commands` (a machine's page), `explore` (to hold the model against measurements),
`grading` (modelled times beside a verdict) and `reports` (their tables), and by lab 05's
experiments.
"""
