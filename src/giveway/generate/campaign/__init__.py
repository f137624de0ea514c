"""Runs of many tests: propose scenes, drive the cars, perturb them, keep what happened."""
