"""Many small worlds with an ego under test and learning cars, stepped together in compiled code."""
