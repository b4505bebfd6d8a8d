"""What file systems may lack: locks, and room.

Imported by most packages that write: a cluster's home folder may lack either.
"""
