"""What a node can show, what disturbs times on it, and how noisy they are."""
