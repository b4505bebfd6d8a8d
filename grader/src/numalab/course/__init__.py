"""A whole class: submissions taken in, graded on a cluster or here, and kept in one folder."""
