"""Trajectron++ as used in the gap-acceptance benchmark.

Written from the published description and the sizes, schedules and losses of the benchmark's supplement.

Reference:
    T. Salzmann, B. Ivanovic, P. Chakravarty, M. Pavone, "Trajectron++: Dynamically-Feasible Trajectory Forecasting
    With Heterogeneous Data", ECCV 2020. J. F. Schumann, J. Kober, A. Zgonnikov, "Benchmarking Behavior Prediction
    Models in Gap Acceptance Scenarios", IEEE T-IV 2023, and the supplement of Schumann et al. 2023.
"""
