"""From evidence to verdicts: pure functions over records."""
