"""The table of operations as people read it: its names, and its formulas as text; it stands on the engine, and reads it."""
