"""Plain, slow versions of what the package does fast; tests compare, benchmarks measure the ratio."""
