"""inD: drone recordings of intersections (levelXdata)."""

from __future__ import annotations

from giveway.core.tracks import AgentKind
from giveway.data.levelx import LevelXDataset
from giveway.data.protocol import DatasetInfo

IND = LevelXDataset(
    info=DatasetInfo(
        name="ind",
        title="inD",
        frame_rate_hz=25.0,
        license="non-commercial research; no redistribution; commercial licences from levelXdata",
        obtain="request access at https://levelxdata.com/ind-dataset/ and unpack the archive",
        layout="data/NN_recordingMeta.csv\ndata/NN_tracksMeta.csv\ndata/NN_tracks.csv   (NN = 00..32)",
        references=(
            "Bock, J., Krajewski, R., Moers, T., Runde, S., Vater, L., Eckstein, L. (2020). The inD Dataset: A Drone "
            "Dataset of Naturalistic Road User Trajectories at German Intersections. IEEE IV 2020. "
            "doi:10.1109/IV47402.2020.9304839.",
        ),
    ),
    kinds={
        "car": AgentKind.CAR,
        "truck_bus": AgentKind.TRUCK,
        "bicycle": AgentKind.BICYCLE,
        "pedestrian": AgentKind.PEDESTRIAN,
    },
    sizeless=frozenset({AgentKind.BICYCLE, AgentKind.PEDESTRIAN}),
    elsewhere=dict.fromkeys(("van", "truck", "bus", "trailer", "motorcycle"), "round"),
)
