"""Synthetic Leeds (UDISS): participants cross a stream of cars, twice each."""
