"""TOML files, read so that a mistake is told with its file and line."""
