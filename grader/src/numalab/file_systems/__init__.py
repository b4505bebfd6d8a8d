"""What file systems may lack: locks, and room."""
