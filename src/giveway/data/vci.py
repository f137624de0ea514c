"""DUT and CITR: pedestrians and vehicles that share a space, from a drone (vehicle-crowd interaction)."""

from __future__ import annotations

from pathlib import Path

from giveway.data.generic import Generic
from giveway.data.protocol import DatasetInfo

MAPPINGS = Path(__file__).with_name("mappings")
REFERENCE = (
    "Yang, D., Li, L., Redmill, K., Özgüner, Ü. (2019). Top-view Trajectories: A Pedestrian Dataset of Vehicle-Crowd "
    "Interaction from Controlled Experiments and Crowded Campus. IEEE IV 2019. arXiv:1902.00487."
)
LICENSE = "no license file; ask the authors before publishing derived data"

DUT = Generic(
    info=DatasetInfo(
        name="dut",
        title="DUT",
        frame_rate_hz=23.98,
        license=LICENSE,
        obtain="git clone https://github.com/dongfang-steven-yang/vci-dataset-dut",
        layout="**/<clip>_traj_veh_filtered.csv\n**/<clip>_traj_ped_filtered.csv",
        references=(REFERENCE,),
    ),
    mapping=MAPPINGS / "dut.toml",
)
"""Pedestrians and cars on a campus (DUT, drone, 23.98 Hz); one scene per clip, no map."""

CITR = Generic(
    info=DatasetInfo(
        name="citr",
        title="CITR",
        frame_rate_hz=29.97,
        license=LICENSE,
        obtain="git clone https://github.com/dongfang-steven-yang/vci-dataset-citr",
        layout="**/<clip>_traj_veh_filtered.csv   (absent without a vehicle)\n**/<clip>_traj_ped_filtered.csv",
        references=(REFERENCE,),
    ),
    mapping=MAPPINGS / "citr.toml",
)
"""Pedestrians and a golf cart in controlled experiments (CITR, drone, 29.97 Hz); one scene per clip, no map."""
