"""Run specification, executor and resumable store."""
