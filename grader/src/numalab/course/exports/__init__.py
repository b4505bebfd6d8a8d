"""Grades as the systems of courses take them."""
