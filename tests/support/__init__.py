"""Databases, servers, studies, stores and toys that several tests and benchmarks need."""
