"""First chapter: recordings, whether they are whole, and what they look like."""

from __future__ import annotations

from pathlib import Path

from giveway.core.files import write_text
from giveway.data import DATASETS
from giveway.demo.chapter import Chapter, Section
from giveway.reports.drawing import draw_scene
from giveway.reports.player.document import replay_document
from giveway.reports.rendering import replay_page
from giveway.synth.protocol import synthesize

MINUTES = 2.0
REPLAY_S = 60.0


def _run(root: Path, seed: int) -> tuple[Section, ...]:
    data = root / "recordings" / "interaction"
    synthesize("interaction", data, seed=seed, minutes=MINUTES, force=True)
    adapter = DATASETS.get("interaction")
    verification = adapter.verify(data)
    rows = [("recording", "tracks", "seconds")]
    rows += [(r.id, str(r.num_tracks), f"{r.duration_s:.0f}") for r in verification.recordings]
    sections = [
        Section(
            heading="Synthetic recordings",
            text="Files in the format of INTERACTION v1 with lanelet2 maps, written from a seed and checked by the "
            f"same reader that reads the real ones: {'whole' if verification.ok else 'damaged'}.",
            command="giveway data synth --dataset interaction --out recordings && "
            "giveway data verify recordings --dataset interaction",
            table=tuple(rows),
        )
    ]
    for recording in adapter.recordings(data):
        scene = next(iter(adapter.scenes(recording)))
        name = recording.id.replace("/", "_")
        picture, replay = Path("recordings") / f"{name}.png", Path("recordings") / f"{name}.html"
        draw_scene(scene, root / picture, title=recording.id)
        stop = round(REPLAY_S / scene.tracks.dt_s)
        write_text(root / replay, replay_page(replay_document(scene, title=recording.id, stop=stop)))
        sections.append(Section(heading=recording.id, image=picture, links=(("watch the replay", replay),)))
    return tuple(sections)


chapter = Chapter(name="recordings", title="Recordings", run=_run)
