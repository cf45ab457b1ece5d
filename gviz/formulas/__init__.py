"""Formulas of a graph: what each operation computes, in the names of the program, and its local derivatives as symbols.

One type, :class:`gviz.formulas.formula.Formula`, is read, multiplied, added and replaced in; text is made where it is shown.
"""
