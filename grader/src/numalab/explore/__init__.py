"""What a lab is about, measured with intervals: runs, tables, plots."""
