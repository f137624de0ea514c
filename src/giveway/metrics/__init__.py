"""Measures: a function and a fact sheet each."""
