"""Results of all applications as one static site."""
