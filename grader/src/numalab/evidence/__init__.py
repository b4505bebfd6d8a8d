"""The format of gradings' records, and the evidence that is read from them."""
