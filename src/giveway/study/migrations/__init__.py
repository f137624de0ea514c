"""Steps that bring older study databases up to date."""
