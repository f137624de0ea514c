"""The model as a compiled kernel: many paths side by side in SIMD lanes, one source for 32 and 64 bit."""
