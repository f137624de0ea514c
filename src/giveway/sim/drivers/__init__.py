"""What moves a car: one module per driver."""
