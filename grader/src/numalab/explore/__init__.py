"""What a lab is about, measured with intervals: runs, tables, plots.

Imported by `commands` (explore), `learning` (the same in notebooks), `portrait` (the same rounds of
fresh processes) and `reports` (figures of rates and latencies).
"""
