"""rounD: drone recordings of roundabouts (levelXdata)."""

from __future__ import annotations

from giveway.core.tracks import AgentKind
from giveway.data.levelx import LevelXDataset
from giveway.data.protocol import DatasetInfo

ROUND = LevelXDataset(
    info=DatasetInfo(
        name="round",
        title="rounD",
        frame_rate_hz=25.0,
        license="non-commercial research; no redistribution; commercial licences from levelXdata",
        obtain="request access at https://levelxdata.com/round-dataset/ and unpack the archive",
        layout="data/NN_recordingMeta.csv\ndata/NN_tracksMeta.csv\ndata/NN_tracks.csv   (NN = 00..23)",
        references=(
            "Krajewski, R., Moers, T., Bock, J., Vater, L., Eckstein, L. (2020). The rounD Dataset: A Drone Dataset "
            "of Road User Trajectories at Roundabouts in Germany. IEEE ITSC 2020. doi:10.1109/ITSC45102.2020.9294728.",
        ),
    ),
    kinds={
        "car": AgentKind.CAR,
        "van": AgentKind.VAN,
        "truck": AgentKind.TRUCK,
        "bus": AgentKind.BUS,
        "trailer": AgentKind.TRAILER,
        "motorcycle": AgentKind.MOTORCYCLE,
        "bicycle": AgentKind.BICYCLE,
        "pedestrian": AgentKind.PEDESTRIAN,
    },
    elsewhere={"truck_bus": "ind"},
)
