"""Learning of several cars at once: MADDPG and MATD3, replay, checkpoints, curves."""
