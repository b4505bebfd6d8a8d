"""Explorations: measurements on the subject of a lab, with intervals, tables and plots.

Imported by `commands` (explore), `learning` (the same in notebooks), `portrait` (the same rounds of
fresh processes) and `reports` (figures of rates and latencies).
"""
