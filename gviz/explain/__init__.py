"""Local derivatives as symbols, the paths of the chain rule, and the table of operations as people read it."""
