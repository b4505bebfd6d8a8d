"""How numalab gets to others: one folder for everybody on a system (./numalab install), and a
container image (./numalab image).

Imported by `commands` (install, image, edition) and `editions`, which copies the same files.
"""
