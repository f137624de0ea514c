"""Reports of generated traffic: numbers, realism, and a gallery of replays."""
