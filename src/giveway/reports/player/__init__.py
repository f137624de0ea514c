"""Animated replays of scenes on a canvas: a JSON document, an ES module that draws it, a self-contained page.

* :func:`giveway.reports.player.document.replay_document` turns a Scene (and what happened in it) into plain JSON;
* ``player.js`` draws such a document (``createPlayer`` on a bare canvas, ``mountPlayer`` with controls);
* :func:`giveway.reports.rendering.replay_page` puts both into one HTML file that opens from disk.
"""
