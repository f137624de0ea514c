"""Everything once, small, on synthetic recordings: the chapters behind ``giveway demo``.

A chapter is one module with a ``chapter`` value and one line in :data:`giveway.demo.run.CHAPTERS`.
"""
