"""Perturbing cars that are close to the ego, away from what turned out to be safe."""
