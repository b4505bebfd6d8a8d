"""Virtual machines: machines of the gallery, booted in QEMU with Linux.

Imported by `commands` (machine run, cluster), `diagnosing`, `grading` and `learning` (evidence from
a machine of the gallery) and `installing` (the Linux kernel that all of them boot).
"""
