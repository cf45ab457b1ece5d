"""A static graph beside dynamic ones, and the differences of two graphs."""
