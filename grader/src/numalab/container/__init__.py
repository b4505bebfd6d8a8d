"""Container images of the kit: made of Debian's packages, without a registry."""
