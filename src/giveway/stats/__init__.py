"""Resampling, tests and agreement coefficients."""
