"""What counts of all that was graded, and why."""
