"""The command line: one file a command or group, each a thin face of a library below."""
