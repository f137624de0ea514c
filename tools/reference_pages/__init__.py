"""Pages of docs/reference that are made from the code; tests say when one is out of date."""
