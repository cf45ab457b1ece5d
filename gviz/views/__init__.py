"""Views: further ways to draw a graph than TorchViz's boxes, each a file of this folder, found by its name.

A view is a module with

- ``prepare(graph)``: the graph that it draws, made from the one that was recorded
- ``statements(graph, options, theme)``: its boxes and lines, each with Graphviz's attributes
- ``SPACE``: the distances between boxes, as attributes of the graph
- ``legend(graph, options, theme)``: the text below the picture
"""
