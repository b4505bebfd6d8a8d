"""Records of what monitors saw, read and typed. The only bridge from C."""
