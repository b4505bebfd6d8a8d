"""Explorations: measurements on the subject of a lab, with intervals, tables and plots.

Imported by `commands`, `learning` (explorations and sweeps in notebooks), `portrait` (the same
rounds of fresh processes) and `reports` (figures); also by the experiments of labs.
"""
