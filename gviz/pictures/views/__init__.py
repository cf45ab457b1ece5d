"""Views: the ways to draw a graph, each a file of this folder that is found by its name and has ``picture(graph, options)``."""
