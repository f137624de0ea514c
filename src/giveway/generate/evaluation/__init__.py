"""What generated traffic is worth: effect, realism, diversity, and comparisons between methods."""
