"""One submission from files to verdict: what looks at it, what times it, where, and the loop
over labs and languages."""
