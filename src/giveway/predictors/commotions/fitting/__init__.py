"""Finding θ: an objective under common random numbers, a journal, and several optimizers behind one interface."""
