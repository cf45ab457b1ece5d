"""The table of operations as people read it: its names, and its formulas as text; it reads them from the engine."""
