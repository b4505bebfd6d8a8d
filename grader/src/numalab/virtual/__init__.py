"""Virtual nodes: machines booted in QEMU with a Linux kernel of their own."""
