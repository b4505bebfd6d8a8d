"""Deliveries of a class: what was handed in, by whom, for which lab."""
