"""A static site from results: opens from disk, asks no host for anything, works with a hundred thousand cells.

* :mod:`~giveway.reports.site.content` says what a site consists of, as plain values;
* :mod:`~giveway.reports.site.stores`, ``benchmarks``, ``drives``, ``studies`` turn results into such values;
* :mod:`~giveway.reports.site.writing` writes them. Large tables and replays are small script files that a page loads
  when somebody asks for them, because browsers refuse ``fetch`` for files on disk.
"""
