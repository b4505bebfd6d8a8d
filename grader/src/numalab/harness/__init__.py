"""Builds kernels, alone or in a sandbox, and runs monitors. The only place that starts them."""
