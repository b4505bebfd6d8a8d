"""What an instructor gets for a lesson, made from the files of its lab."""
