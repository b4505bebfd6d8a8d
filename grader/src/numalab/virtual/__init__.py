"""Virtual machines: described machines, booted in QEMU with Linux.

Imported by `commands` (machine run, cluster and others), `diagnosing`, `grading` and `learning`
(runs on virtual machines) and `installing` (the Linux kernel for them).
"""
