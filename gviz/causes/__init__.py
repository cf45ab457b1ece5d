"""Why a gradient is None, zero, not a number, or the sum of several: the cause, its line, and what to write instead."""
