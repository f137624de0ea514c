"""The simulator: step function, cast, collisions, logs."""
