"""Lane graphs: types, lanelet2 reader, queries."""
