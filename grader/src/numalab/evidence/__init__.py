"""Records of what monitors saw, read and typed. The only bridge from C.

Imported by most packages: whatever judges, shows or explains evidence reads these records.
"""
