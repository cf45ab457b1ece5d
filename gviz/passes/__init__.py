"""Graph in, graph out: each file here makes another picture of the same graph."""
