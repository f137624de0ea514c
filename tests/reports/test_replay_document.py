import json

import numpy as np
import pytest

from giveway.core.scene import Provenance, Scene
from giveway.core.tracks import AgentKind, Tracks
from giveway.reports.player.document import Event, Fan, replay_document
from giveway.reports.rendering import embed_json, replay_page


def scene_with_a_gap() -> Scene:
    observed = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], dtype=bool)
    xy = np.stack([np.linspace(1000, 1020, 15).reshape(3, 5), np.linspace(900, 905, 15).reshape(3, 5)], axis=-1)
    xy[~observed] = np.nan
    heading = np.where(observed, 3.1, np.nan)
    heading[1] = np.nan
    return Scene(
        tracks=Tracks(
            time_s=np.arange(5) * 0.1,
            xy=xy,
            heading=heading,
            velocity=np.where(observed[..., None], [0.0, 2.0], np.nan),
            observed=observed,
            size=np.array([[4.0, 2.0], [np.nan, np.nan], [4.0, 2.0]]),
            kind=np.array([AgentKind.CAR, AgentKind.PEDESTRIAN, AgentKind.CAR]),
            ids=np.array(["1", "P2", "3"]),
        ),
        provenance=Provenance(dataset="test", recording="a"),
    )


def decode(values, unit):
    return np.cumsum(values) * unit


def test_positions_survive_to_half_a_centimeter():
    scene = scene_with_a_gap()
    document = replay_document(scene)
    for agent, row in zip(document["agents"], [0, 1], strict=True):
        for part in agent["segments"]:
            span = slice(part["start"], part["start"] + len(part["x"]))
            x = decode(part["x"], document["unit"]) + document["origin"][0]
            y = decode(part["y"], document["unit"]) + document["origin"][1]
            np.testing.assert_allclose(x, scene.tracks.xy[row, span, 0], atol=0.00501)
            np.testing.assert_allclose(y, scene.tracks.xy[row, span, 1], atol=0.00501)


def test_a_track_with_a_hole_becomes_two_segments_and_an_absent_agent_none():
    document = replay_document(scene_with_a_gap())
    assert [a["id"] for a in document["agents"]] == ["1", "P2"]
    assert [(s["start"], len(s["x"])) for s in document["agents"][0]["segments"]] == [(0, 2), (3, 2)]


def test_unknown_heading_is_drawn_in_the_direction_of_motion():
    document = replay_document(scene_with_a_gap())
    np.testing.assert_allclose(decode(document["agents"][1]["segments"][0]["h"], 0.001), np.pi / 2, atol=0.001)


def test_document_is_plain_json_without_nan():
    document = replay_document(
        scene_with_a_gap(),
        events=[Event(time_s=0.2, label="hit", kind="collision")],
        fans=[
            Fan(frame=1, agent_id="1", kind="prediction", xy=np.full((1, 3, 2), 1000.0), probability=np.array([1.0]))
        ],
    )
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_an_empty_window_is_refused():
    with pytest.raises(ValueError, match="no instants"):
        replay_document(scene_with_a_gap(), start=9)


def test_text_from_data_cannot_close_the_script_or_run():
    document = replay_document(scene_with_a_gap(), title="</script><img src=x onerror=alert(1)>")
    page = replay_page(document)
    assert "</script><img" not in page
    assert "&lt;/script&gt;" in page
    assert json.loads(embed_json(document)) == document
