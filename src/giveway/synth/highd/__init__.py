"""Synthetic highD: a motorway with two lanes per direction and drivers who want to overtake."""
