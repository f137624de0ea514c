"""Who drives the surrounding cars of a test."""
