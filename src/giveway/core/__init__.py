"""Values and pure functions everything else stands on; imports nothing of ours."""
