"""Ways to pass numalab on: one installation for all users of a machine (./numalab install), and a
container image (./numalab image).

Imported by `commands` (install, image, edition) and `editions`, which copies files in the same way.
"""
