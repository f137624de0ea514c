"""Small files in the published formats, written by hand so that the readers have an independent opposite."""

from pathlib import Path

import pytest

from giveway.testing.formats import WRITERS, write_format

INTERACTION_HEADER = "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"
PEDESTRIAN_HEADER = "track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy"


def interaction_lines(tracks=((1, 1, 5), (2, 3, 6))):
    """Track t drives along x at 5 m/s in its own lane; entries are (id, first frame, last frame)."""
    lines = [INTERACTION_HEADER]
    for track, first, last in tracks:
        lines += [
            f"{track},{k},{100 * k},car,{1000 + 0.5 * k:.3f},{990 + 4 * track:.3f},5.0,0.0,0.0,4.5,1.8"
            for k in range(first, last + 1)
        ]
    return lines


def pedestrian_lines():
    return [PEDESTRIAN_HEADER, *(f"P4,{k},{100 * k},pedestrian/bicycle,1010.0,{980 + 0.1 * k},0.0,1.0" for k in (4, 5))]


def write_lines(path: Path, lines, *, end="\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((end.join(lines) + end).encode())
    return path


@pytest.fixture
def interaction_root(tmp_path):
    """One site with one recording of two cars and a pedestrian; no map."""
    site = tmp_path / "recorded_trackfiles" / "DR_TEST_Merging_A"
    write_lines(site / "vehicle_tracks_000.csv", interaction_lines())
    write_lines(site / "pedestrian_tracks_000.csv", pedestrian_lines())
    return tmp_path


ROUND_RECORDING = (
    "recordingId,locationId,frameRate,speedLimit,weekday,startTime,duration,numTracks,numVehicles,numVRUs,"
    "latLocation,lonLocation,xUtmOrigin,yUtmOrigin,orthoPxToMeter"
)
ROUND_META = "recordingId,trackId,initialFrame,finalFrame,numFrames,width,length,class"
ROUND_TRACKS = (
    "recordingId,trackId,frame,trackLifetime,xCenter,yCenter,heading,width,length,xVelocity,yVelocity,"
    "xAcceleration,yAcceleration,lonVelocity,latVelocity,lonAcceleration,latAcceleration"
)


def levelx_files(tracks, *, decimals=4):
    """Lines of the three files; entries are (class, first frame, last frame, length, width), all driving along +y."""
    d = decimals
    meta, rows = [ROUND_META], [ROUND_TRACKS]
    for number, (kind, first, last, length, width) in enumerate(tracks):
        meta.append(f"0,{number},{first},{last},{last - first + 1},{width:.{d}f},{length:.{d}f},{kind}")
        for k in range(first, last + 1):
            values = [80 + 4 * number, -60 + 0.2 * k, 90, width, length, 0, 5, 0, 0, 5, 0, 0, 0]
            rows.append(f"0,{number},{k},{k - first}," + ",".join(f"{v:.{d}f}" for v in values))
    recording = [
        ROUND_RECORDING,
        f"0,1,25,13.8889,tuesday,7,1028.6400,{len(tracks)},{len(tracks)},0,50.7906,6.0599,292669.4681,5630731.7040,"
        "0.01480983298809042",
    ]
    return {"recordingMeta": recording, "tracksMeta": meta, "tracks": rows}


def write_levelx(root: Path, tracks, *, number="00", decimals=4) -> Path:
    for suffix, lines in levelx_files(tracks, decimals=decimals).items():
        write_lines(root / "data" / f"{number}_{suffix}.csv", lines)
    return root


@pytest.fixture
def round_root(tmp_path):
    return write_levelx(tmp_path, [("car", 0, 9, 4.0, 2.0), ("bicycle", 3, 6, 1.8, 0.6), ("trailer", 5, 12, 8.0, 2.5)])


@pytest.fixture
def unid_root(tmp_path):
    return write_levelx(tmp_path, [("car", 0, 9, 4.0, 2.0), ("animal", 3, 6, 0.0, 0.0), ("motorcycle", 2, 7, 0.0, 0.0)])


EXID_COLUMNS = (
    "traveledDistance,latLaneCenterOffset,laneWidth,laneletId,laneChange,lonLaneletPos,laneletLength,leadDHW,leadDV,"
    "leadTHW,leadTTC,leadId,rearId,leftLeadId,leftRearId,leftAlongsideId,rightLeadId,rightRearId,rightAlongsideId"
)


@pytest.fixture
def exid_root(tmp_path):
    write_levelx(tmp_path, [("car", 0, 9, 4.0, 2.0), ("truck", 3, 6, 12.0, 2.5)])
    path = tmp_path / "data" / "00_tracks.csv"
    header, *rows = path.read_text().splitlines()
    more = "1.0,0.1;-3.4,3.5;3.5,1500;1501,0,10.0,90.0,-1,-1000,-1,-1,7,-1,-1,-1,4;5,-1,-1,-1"
    write_lines(path, [f"{header},{EXID_COLUMNS}", *(f"{row},{more}" for row in rows)])
    return tmp_path


@pytest.fixture
def ind_root(tmp_path):
    tracks = [("car", 0, 9, 4.0, 2.0), ("pedestrian", 3, 6, 0.0, 0.0), ("truck_bus", 5, 12, 12.0, 2.5)]
    return write_levelx(tmp_path, tracks, decimals=5)


@pytest.fixture
def edit():
    """Change one cell (or a whole line) of a file; lines are 1-based, cells 0-based."""

    def change(path: Path, *, line: int, cell: int | None = None, value: str | None = None, separator=","):
        lines = path.read_text().splitlines()
        if value is None:
            del lines[line - 1]
        elif cell is None:
            lines[line - 1] = value
        else:
            cells = lines[line - 1].split(separator)
            cells[cell] = value
            lines[line - 1] = separator.join(cells)
        path.write_text("\n".join(lines) + "\n")

    return change


LGAP_MEASURES = (
    "subj_id,session,route,intersection_no,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,"
    "is_go_decision,is_collision,decision,tta_condition,d_condition,v_condition"
)
LGAP_STATES = (
    "subj_id,session,route,intersection_no,intersection_x,intersection_y,turn_direction,t,"
    "ego_distance_to_intersection,tta_condition,d_condition,v_condition,ego_x,ego_y,ego_vx,ego_vy,ego_ax,ego_ay,"
    "ego_yaw,bot_x,bot_y,bot_vx,bot_vy,bot_ax,bot_ay,bot_yaw,throttle,brake,steer,ego_v,bot_v,ego_a,bot_a,"
    "d_ego_bot,tta,idx_bot_spawn,idx_response,idx_min_distance,min_distance,RT,is_go_decision"
)


def lgap_states(key, *, decision, rows=8, spawn=3):
    """A human creeping east at (150, 300); the bot comes south at 24 m/s, blended on the row before it is whole."""
    lines = []
    for k in range(rows):
        share = 0.0 if k < spawn - 1 else 0.5 if k == spawn - 1 else 1.0
        bot = [share * 151.75, share * (400 - 0.24 * k), 0, -24 * share, 0, 0, 90 * share]
        ego = [140 + 0.01 * k, 301.75, 1, 0, 0, 0, 0]
        tail = [0.1, 0, 0, 1, 24 * share, 0, 0, 100, 4, spawn, 5, 7, 6, 0.5]
        cells = [*key, 150, 300, 1, 5 + 0.01 * k, 9, 5, 120, 24, *ego, *bot, *tail]
        lines.append(",".join(f"{cell:g}" for cell in cells) + f",{decision}")
    return lines


@pytest.fixture
def lgap_root(tmp_path):
    """Two trials of one participant; the first turns, the second waits."""
    first, second = (501, 1, 2, 1), (501, 1, 2, 2)
    write_lines(
        tmp_path / "measures.csv",
        [
            LGAP_MEASURES,
            ",".join(map(str, first)) + ",3,5,7,6.0,0.5,True,False,Go,5.0,120.0,24.0",
            ",".join(map(str, second)) + ",3,5,7,6.0,0.5,False,False,Stay,5.0,120.0,24.0",
        ],
    )
    states = [LGAP_STATES, *lgap_states(first, decision=True), *lgap_states(second, decision=False)]
    write_lines(tmp_path / "processed_data.csv", states)
    return tmp_path


def leeds_log(header, start, rows, row):
    return ["\t".join(header), *("\t".join(f"{v:.4f}" for v in row(start + k / 60)) for k in range(rows))]


@pytest.fixture
def leeds_root(tmp_path):
    """One participant with two cars on the first and one on the second crossing; clocks are not aligned."""
    folder = tmp_path / "sub1"
    subject = leeds_log(["simTime", "x", "y", "extra", "offset"], 10.004, 40, lambda t: (t, 5 * t, 7, 0, -1.83))
    write_lines(folder / "subject_1_2.txt", subject)
    names = ["%simTime", "speed", "x_r", "y_r", "offset_p", "leaderID_r", "followerID_r"]
    chains = {"drone300_a": (0, 301, 10.0), "drone301_a": (300, 0, 10.2), "drone1000_b": (0, 0, 10.1)}
    for name, (leader, follower, start) in chains.items():
        log = leeds_log(
            names, start, 30, lambda t, a=leader, b=follower: (t, 12, 3, 12 * t, 1.83 - 0.1 * (t - 10), a, b)
        )
        write_lines(folder / f"{name}.txt", log)
    return tmp_path


HIGHD_RECORDING = (
    "id,frameRate,locationId,speedLimit,month,weekDay,startTime,duration,totalDrivenDistance,totalDrivenTime,"
    "numVehicles,numCars,numTrucks,upperLaneMarkings,lowerLaneMarkings"
)
HIGHD_META = (
    "id,width,height,initialFrame,finalFrame,numFrames,class,drivingDirection,traveledDistance,minXVelocity,"
    "maxXVelocity,meanXVelocity,minDHW,minTHW,minTTC,numLaneChanges"
)
HIGHD_TRACKS = (
    "frame,id,x,y,width,height,xVelocity,yVelocity,xAcceleration,yAcceleration,frontSightDistance,backSightDistance,"
    "dhw,thw,ttc,precedingXVelocity,precedingId,followingId,leftPrecedingId,leftAlongsideId,leftFollowingId,"
    "rightPrecedingId,rightAlongsideId,rightFollowingId,laneId"
)


@pytest.fixture
def highd_root(tmp_path):
    """A car in the upper lanes towards -x and a truck in the lower lanes towards +x."""
    write_lines(
        tmp_path / "data" / "01_recordingMeta.csv",
        [
            HIGHD_RECORDING,
            "1,25,2,-1.00,09.2017,Tue,08:38,9.015600e+02,418549.19,13908.12,2,1,1,8.51;12.59;16.43,21.00;24.96;28.80",
        ],
    )
    meta, rows = [HIGHD_META], [HIGHD_TRACKS]
    for number, (kind, way, length, width, first, last) in enumerate(
        [("Car", 1, 4.0, 2.0, 1, 6), ("Truck", 2, 12.0, 2.5, 3, 8)], 1
    ):
        speed = -30.0 if way == 1 else 25.0
        meta.append(
            f"{number},{length:.2f},{width:.2f},{first},{last},{last - first + 1},{kind},{way},52.25,40.85,41.30,41.07,"
            "-1.00,-1.00,-1.00,0"
        )
        for k in range(first, last + 1):
            x, y = 100 + speed * k / 25, 9.5 if way == 1 else 22.0
            rows.append(
                f"{k},{number},{x:.2f},{y:.2f},{length:.2f},{width:.2f},{speed:.2f},0.10,0.00,0.00,1.00,1.00,0.00,0.00,"
                f"0.00,0.00,0,{3 - number},0,0,0,0,0,0,{way + 1}"
            )
    write_lines(tmp_path / "data" / "01_tracksMeta.csv", meta)
    write_lines(tmp_path / "data" / "01_tracks.csv", rows)
    return tmp_path


CASES_HEADER = "case_id,track_id,frame_id,timestamp_ms,agent_type,x,y,vx,vy,psi_rad,length,width"


def case_lines(case, *, frames=4, track=1):
    lines = [
        f"{case},{track},{k},{100 * k},car,{1000 + k},{990 + track},10,0,0.0,4.5,1.8" for k in range(1, frames + 1)
    ]
    return [*lines, f"{case},P7,2,200,pedestrian/bicycle,1010.0,980.0,0.0,1.0,,,"]


@pytest.fixture
def interaction_cases_root(tmp_path):
    """Two cases for training (one of them numbered as a float) and an observed one for testing."""
    train = [CASES_HEADER, *case_lines("1.0"), *case_lines("2.0", track=5)]
    write_lines(tmp_path / "train" / "DR_TEST_Merging_A_train.csv", train)
    observed = [f"{line},1,{int(',P' not in line)}" for line in case_lines("7", frames=2)]
    header = f"{CASES_HEADER},track_to_predict,interesting_agent"
    write_lines(tmp_path / "test_multi-agent" / "DR_TEST_Merging_A_obs.csv", [header, *observed])
    return tmp_path


GENERIC_TOML = """
default_kind = "car"

[files]
tracks = "flights/*.txt"
separator = ";"
decimal = ","
location = "my junction"

[time]
frame_rate_hz = 10
time_unit = "ms"

[columns]
track = "ID"
time = "Zeit"
x = "X [ft]"
y = "Y [ft]"
heading = "Kurs"
kind = "Art"

[units]
position = "ft"
angle = "deg"
angle_direction = "clockwise"
angle_zero = "y"
y_axis = "down"

[kinds]
car = ["Pkw"]
bicycle = ["Rad"]
"""


@pytest.fixture
def generic_root(tmp_path):
    """Semicolons, decimal commas, quotes, feet, compass angles, image coordinates, sorted by time."""
    (tmp_path / "dataset.toml").write_text(GENERIC_TOML)
    rows = [
        f'"{name}";{100 * k};{100 + 10 * k},5;{20 * (1 + a)},0;{(90, 0)[a]};"{kind}"'
        for k in range(4)
        for a, (name, kind) in enumerate([("Auto 1", "Pkw"), ("b", "Rad")])
    ]
    write_lines(tmp_path / "flights" / "flug.txt", ["ID;Zeit;X [ft];Y [ft];Kurs;Art", *rows])
    return tmp_path


def _format_root(name):
    @pytest.fixture(name=f"{name}_root")
    def root(tmp_path):
        write_format(name, tmp_path)
        return tmp_path

    return root


for _name in WRITERS:
    globals()[f"{_name}_root"] = _format_root(_name)
