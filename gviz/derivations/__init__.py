"""The chain rule, path by path: every way from the roots to a tensor, its steps, and what they come to."""
