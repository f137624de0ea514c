"""The simulator behind interfaces of reinforcement learning: PettingZoo for traffic, Gymnasium for the ego."""
