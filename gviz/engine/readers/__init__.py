"""The table of operations as people read it: ``gviz ops``, and formulas of numbers and names."""
