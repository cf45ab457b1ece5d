"""Views: the ways to draw a graph, each a file of this folder that is found by its name, which stands in VIEWS.

It has ``picture(graph, options)`` and ``IGNORES``: the fields of :class:`gviz.RenderOptions` that have no effect on it.
"""
