"""What can be graded on this machine, what disturbs times on it, and how noisy they are.

Imported by `commands` alone: doctor, and the frequency report of lab 08.
"""
