"""Constants by dtype: numpy takes twice as long with a Python number. None for booleans: they go the careful way."""

from __future__ import annotations

import numpy as np

__all__ = ["ONE", "ZERO"]

ZERO = {np.dtype(code): np.zeros((), code) for code in "efdbhilqBFD"}
ONE = {dtype: np.ones((), dtype) for dtype in ZERO}
