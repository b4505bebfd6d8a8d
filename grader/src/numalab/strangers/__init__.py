"""Strangers' bytes, read by libraries and programs that are not ours: apart, and with limits."""
