"""Failures as cases for ``drive``, recordings for ``study`` and OpenSCENARIO files for other simulators."""
