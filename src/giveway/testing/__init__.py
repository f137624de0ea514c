"""Public conformance checks and synthetic worlds."""
