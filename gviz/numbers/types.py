"""Types that annotations of several rooms name."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
Number = bool | int | float | complex
StrPath = str | os.PathLike[str]
