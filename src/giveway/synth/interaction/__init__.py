"""Synthetic INTERACTION v1: a merge, a roundabout and a four-way junction, with their lanelet2 maps."""
