"""Inverse labs: a known mistake is to be told from its report."""
