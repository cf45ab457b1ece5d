"""``gviz steps``: a source becomes a series of slides, one for each step, forward and backward."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, takes_source
from gviz.cli.output import Output, default_stem, titled_as
from gviz.cli.reading import read_source
from gviz.pictures.options import ENGINES, RANKDIRS, THEMES, RenderOptions

if TYPE_CHECKING:
    from gviz.graph import Graph
    from gviz.sources import Source, SourceOptions

__all__ = ["steps"]
