"""./numalab install: one kit in a folder of its own, for everybody on a system."""
