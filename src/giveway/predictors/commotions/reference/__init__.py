"""The model in plain NumPy and 64 bit, one function per building block: the oracle of the fast kernel.

Shapes: B paths, U actions, axis "behavior" has the two slots *first* and *second*; arguments of one function
broadcast against each other.
"""
