"""What tests share: the kit started as a user does, invented records, courses, nodes."""
