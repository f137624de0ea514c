"""gRPC server and client for outside predictors."""
