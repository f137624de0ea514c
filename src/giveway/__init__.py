"""Give Way: how well machines understand drivers who must share a piece of road.

Four applications over one data model: ``gaps`` (open-loop benchmark), ``drive``
(closed loop), ``generate`` (critical traffic) and ``study`` (human ratings).
Start with :class:`giveway.core.tracks.Tracks`; everything else reads or writes it.
"""

import os

os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")  # its functions differ in the last bit; before numba is imported

__version__ = "0.1.0"
