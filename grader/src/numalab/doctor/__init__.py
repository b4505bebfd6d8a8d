"""What a node can show, what disturbs times on it, and how noisy they are.

Imported by `commands` alone: doctor, and what lab 08 reads of a clock.
"""
