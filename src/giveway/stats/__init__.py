"""Tests, intervals and agreement. Every function is pure; randomness comes from a generator passed in."""
