"""Virtual nodes: machines booted in QEMU with a Linux kernel of their own.

Imported by `commands` (machine run, cluster), `diagnosing`, `grading` and `learning` (evidence from
a machine of the gallery) and `installing` (the kernel that all boot).
"""
