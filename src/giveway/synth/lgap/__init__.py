"""Synthetic L-GAP: a human turns left before or after an oncoming car at constant speed."""
