"""Labs as they are declared: criteria, files that are handed in, hints."""
