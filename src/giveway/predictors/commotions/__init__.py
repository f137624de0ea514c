"""Commotions: a cognitive model of two drivers who must share a piece of road, in 32 configurations."""

from __future__ import annotations

from giveway.predictors.commotions.config import NAMES, Configuration, Switches
from giveway.predictors.commotions.parameters import PARAMETERS, Theta
from giveway.predictors.commotions.simulation import Simulation, simulate

__all__ = ["NAMES", "PARAMETERS", "Configuration", "Simulation", "Switches", "Theta", "simulate"]
