"""SinD: signalized intersections of Chinese cities from a drone."""

from __future__ import annotations

from pathlib import Path

from giveway.data.generic import Generic
from giveway.data.protocol import DatasetInfo

SIND = Generic(
    info=DatasetInfo(
        name="sind",
        title="SinD",
        frame_rate_hz=9.99,
        license="CC0 1.0",
        obtain="git clone https://github.com/SOTIF-AVLab/SinD (git lfs pull for the vehicles)",
        layout="<city>/<recording>/Veh_smoothed_tracks.csv\n<city>/<recording>/Ped_smoothed_tracks.csv\n<city>/*.osm",
        references=(
            "Xu, Y., Shao, W., Li, J., Yang, K., Wang, W., Huang, H., Lv, C., Wang, H. (2022). SIND: A Drone Dataset "
            "at Signalized Intersection in China. IEEE ITSC 2022. arXiv:2209.02297.",
        ),
        has_map=True,
    ),
    mapping=Path(__file__).with_name("mappings") / "sind.toml",
)
"""Signalized intersections of Chinese cities from a drone (SinD, 10 Hz); one scene per recording, lanelet2 map."""
