"""Synthetic rounD: drone recordings of three roundabouts."""
