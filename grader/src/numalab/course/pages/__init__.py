"""Write pages about a class, for instructors and for students."""
