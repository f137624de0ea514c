"""Learning to drive the ego: imitation and PPO. The only part of ``drive`` that needs torch."""
