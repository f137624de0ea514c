"""Servers: the rating study in a browser, predictors over gRPC."""
