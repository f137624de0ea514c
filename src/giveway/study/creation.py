"""From a folder of logs to a study folder: choose windows, cut clips, break some on purpose, write everything."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from giveway.core.errors import EmptySelectionError, UsageError
from giveway.core.files import move_folder, write_atomically
from giveway.core.origins import WORDS, Origin, RowOrigin
from giveway.core.scene import Scene
from giveway.core.seeds import stream
from giveway.study.anchors import BROKEN_MOTIONS, broken_origins
from giveway.study.clips import ClipScene, clip_document, clip_id, cut, encode_document
from giveway.study.design import MAX_CLIPS_PER_RATER, MAX_MINUTES, STUDY_FILE, StudyDesign, write_design
from giveway.study.log_sources import UNKNOWN_ORIGIN
from giveway.study.manifest import CLIP_FOLDER, UNKNOWN, Clip, ClipRole, write_manifest
from giveway.study.orders import order_for_slot
from giveway.study.printed_form import NUM_VIDEOS
from giveway.study.secrets import load_key
from giveway.study.sources import Source
from giveway.study.texts import load_texts
from giveway.study.windows import Window, find_windows

ANCHOR_PREFIX = "broken_"
ADVISED_S = (8.0, 15.0)
SECONDS_TO_ANSWER = 8.0

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many clips to make.

    Attributes:
        num_clips: main clips, anchors included.
        num_anchors: clips with broken motion among them.
        recorded: condition with recorded traffic, which provides anchors and practice clips and is the reference of the
            analysis; None takes the first one whose traffic is.
        video: also write MP4 files.
    """

    num_clips: int = 36
    num_anchors: int = 2
    recorded: str | None = None
    video: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation:
    """What was made.

    Attributes:
        folder: study folder.
        clips: everything in the manifest.
        warnings: for people.
    """

    folder: Path
    clips: tuple[Clip, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    scene: Scene
    window: Window


def create_study(
    sources: Sequence[Source],
    folder: Path,
    design: StudyDesign,
    plan: Plan,
    *,
    texts: Path | None = None,
    progress: Progress | None = None,
) -> Creation:
    """Write a study folder; it appears complete or not at all.

    Args:
        sources: one per condition.
        folder: must not exist, or be empty.
        design: declaration.
        plan: numbers.
        texts: translation file, copied into the study folder.
        progress: called with (done, total, what).

    Raises:
        UsageError: if the folder is in use.
        EmptySelectionError: if a condition has no stretch worth showing.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        found = "a study" if (folder / STUDY_FILE).exists() else "files"
        raise UsageError("the study folder is not empty", where=folder, found=found, hint="choose a new folder")
    recorded = _recorded(sources, plan.recorded)
    provider = next((source for source in sources if source.condition == recorded), sources[0])
    design = design.model_copy(update={"recorded": recorded or False, "reference": provider.condition})
    shares = _shares(len(sources), plan)
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        if texts is not None:
            shutil.copyfile(texts, work / f"texts.{design.language}.toml")
        load_texts(work, design.language)
        shop = _Workshop(work, design, plan, progress)
        for source, count in zip(sources, shares, strict=True):
            extra = plan.num_anchors + design.order.practice_clips if source is provider else 0
            shop.make(source, count, extra)
        clips = list(shop.made.values())
        _check_signature(design, clips)
        _require_printed_number(design, sources, clips)
        write_manifest(work, clips)
        write_design(work, design)
        load_key(work)
        _move(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    warnings = [*_advice(design, clips), *shop.warnings]
    if recorded is None:
        warnings.append(
            f"no condition is recorded traffic, so {provider.condition!r} provides broken and practice clips and is "
            "what the others are compared with"
        )
    if any(clip.declared_by == "assumed" for clip in clips):
        warnings.append(
            "nothing says where the recordings come from, so no text calls them real traffic: give --origin recorded "
            "if you know that they are"
        )
    return Creation(folder=folder, clips=tuple(clips), warnings=tuple(warnings))


class _Workshop:
    """Cuts clips into a folder and keeps the list of them."""

    def __init__(self, work: Path, design: StudyDesign, plan: Plan, progress: Progress | None) -> None:
        self.folder = work / CLIP_FOLDER
        self.folder.mkdir()
        self.design = design
        self.plan = plan
        self.progress = progress or (lambda done, total, what: None)
        self.made: dict[str, Clip] = {}
        self.warnings: list[str] = []

    def make(self, source: Source, count: int, extra: int) -> None:
        """Clips of one condition; the last ``extra`` stretches become anchors and practice."""
        found = _collect(source, count + extra, self.design)
        if len(found) < count + extra:
            self.warnings.append(
                f"condition {source.condition!r}: {len(found)} of {count + extra} wanted stretches were found"
            )
        keep = max(1, len(found) - extra)
        for one in found[:keep]:
            self.add(one, cut(one.scene, one.window, self.design.clips), source.condition, "main")
        for n, one in enumerate(found[keep:]):
            role: ClipRole = "main" if n < self.plan.num_anchors else "practice"
            clip = cut(one.scene, one.window, self.design.clips)
            if role == "main" or (n - self.plan.num_anchors) % 2 == 1:  # practice: ordinary and broken in turn
                name = list(BROKEN_MOTIONS)[n % len(BROKEN_MOTIONS)]
                broken = BROKEN_MOTIONS[name](clip.tracks, 1, stream(self.design.order.seed, "anchor", n))
                spoilt = replace(clip, tracks=broken, origins=broken_origins(clip.origins, 1, name))
                self.add(one, spoilt, ANCHOR_PREFIX + name, role)
            else:
                self.add(one, clip, source.condition, role)

    def add(self, one: _Found, clip: ClipScene, condition: str, role: ClipRole) -> None:
        """Write the files of one clip."""
        document = clip_document(clip, self.design.clips)
        content = encode_document(document)
        name = clip_id(content)
        if name in self.made:
            self.warnings.append(f"two clips are identical; one of condition {condition!r} is left out")
            return
        with write_atomically(self.folder / f"{name}.json") as path:
            path.write_bytes(content)
        if self.plan.video:
            from giveway.reports.player.film import CLIP_STYLE, write_film

            write_film(self.folder / f"{name}.mp4", [document], CLIP_STYLE)
        rows = clip.origins if self.design.origin is None else tuple(row.signed() for row in clip.origins)
        unknown = bool(one.scene.attributes.get(UNKNOWN_ORIGIN)) and rows[1].origin is not Origin.BROKEN
        self.made[name] = Clip(
            clip=name,
            condition=condition,
            scene=_scene_key(one),
            role=role,
            duration_s=self.design.clips.duration_s,
            broken=condition.startswith(ANCHOR_PREFIX),
            video=self.plan.video,
            source={**_origin(one), **_details(rows[1])},
            origin=UNKNOWN if unknown else rows[1].origin,
            origins=tuple(UNKNOWN if one.scene.attributes.get(UNKNOWN_ORIGIN) else row.origin for row in rows),
            declared_by="" if unknown else rows[1].declared_by,
        )
        self.progress(len(self.made), self.plan.num_clips + self.design.order.practice_clips, condition)


def _require_printed_number(design: StudyDesign, sources: Sequence[Source], clips: Sequence[Clip]) -> None:
    """The printed form counts its sections; with fewer videos it would be another form."""
    if design.is_published and len(clips) != NUM_VIDEOS:
        raise EmptySelectionError(
            f"the printed form has {NUM_VIDEOS} videos",
            where=sources[0].folder.parent if len(sources) > 1 else sources[0].folder,
            found=f"{len(clips)} different stretches worth showing",
            hint="give more recordings, shorten --seconds, or use --template balanced",
        )


def _move(work: Path, folder: Path) -> None:
    work.chmod(0o755)
    move_folder(work, folder)


def _recorded(sources: Sequence[Source], wanted: str | None) -> str | None:
    """The condition with recorded traffic, by its origin and never by its name."""
    conditions = [source.condition for source in sources]
    if wanted is None:
        return next((source.condition for source in sources if source.origin() is Origin.RECORDED), None)
    if wanted not in conditions:
        raise UsageError(
            f"there is no condition {wanted!r} to take recorded traffic from",
            found=f"conditions: {', '.join(conditions)}",
        )
    origin = sources[conditions.index(wanted)].origin()
    if origin is not None and origin is not Origin.RECORDED:
        raise UsageError(
            f"condition {wanted!r} is not recorded traffic",
            where="--recorded",
            found=f"its traffic is {origin} ({WORDS[origin]})",
            hint="leave --recorded out: the first condition is then what the others are compared with",
        )
    return wanted


def _check_signature(design: StudyDesign, clips: Sequence[Clip]) -> None:
    """Refuse the word that traffic was recorded where no traffic could have been."""
    if design.origin is not None and not any(clip.declared_by == "user" for clip in clips):
        raise UsageError(
            "none of this traffic can be declared recorded",
            where="--origin recorded",
            found=f"origins: {', '.join(sorted({str(clip.origin) for clip in clips}))}",
            hint="only recordings that nobody marked as something else can",
        )


def _details(row: RowOrigin) -> dict[str, str]:
    """Driver, method or damage of the rated vehicle, and what it was before."""
    return {name: value for name, value in row.to_plain().items() if name in ("by", "was")}


def _shares(num_sources: int, plan: Plan) -> list[int]:
    wanted = plan.num_clips - plan.num_anchors
    if wanted < num_sources:
        raise UsageError(
            "too few clips for the conditions",
            found=f"{plan.num_clips} clips with {plan.num_anchors} anchors, {num_sources} conditions",
            hint="raise --num-clips",
        )
    return [wanted // num_sources + (n < wanted % num_sources) for n in range(num_sources)]


def _advice(design: StudyDesign, clips: Sequence[Clip]) -> list[str]:
    low, high = ADVISED_S
    advice: list[str] = []
    if not low <= design.clips.duration_s <= high:
        advice.append(f"clips of {design.clips.duration_s:g} s; {low:g} to {high:g} s are advised")
    main = sum(clip.role == "main" for clip in clips)
    shown = min(main, design.order.clips_per_rater or main)
    minutes = shown * (1 + design.order.repeat_share) * (design.clips.duration_s + SECONDS_TO_ANSWER) / 60
    if shown > MAX_CLIPS_PER_RATER or minutes > MAX_MINUTES:
        advice.append(
            f"{shown} clips, about {minutes:.0f} min per rater: set order.clips_per_rater in study.toml, "
            f"nobody should see more than {MAX_CLIPS_PER_RATER} or sit longer than {MAX_MINUTES:g} min"
        )
    return advice + _unseen(design, clips)


def _unseen(design: StudyDesign, clips: Sequence[Clip]) -> list[str]:
    """Conditions that every order leaves out; how many clips a condition has is the same for every rater."""
    main = {clip.clip: clip for clip in clips if clip.role == "main"}
    order = order_for_slot([clip.stimulus for clip in main.values()], design.plan, 0)
    seen = {main[item.item].condition for item in order if item.kind == "clip"}
    unseen = [name for name in dict.fromkeys(clip.condition for clip in main.values()) if name not in seen]
    return [f"nobody sees a clip of {', '.join(map(repr, unseen))}: raise order.clips_per_rater"] if unseen else []


def _collect(source: Source, count: int, design: StudyDesign) -> list[_Found]:
    """Windows spread over the scenes: as many per scene as needed, then in rounds, the best of every scene first."""
    per_scene = max(2, -(-count // max(1, len(source.readers))) + 1)
    rounds: list[list[_Found]] = [[] for _ in range(per_scene)]
    total, longest_s = 0, 0.0
    for scene in source.scenes(stream(design.order.seed, "scenes", source.condition)):
        windows = find_windows(scene, duration_s=design.clips.duration_s, limit=per_scene)
        for n, window in enumerate(windows):
            rounds[n].append(_Found(scene=scene, window=window))
        total += len(windows)
        longest_s = max(longest_s, float(scene.tracks.time_s[-1] - scene.tracks.time_s[0]))
        if len(rounds[0]) >= count or (total >= count and len(rounds[0]) >= 3):
            break
    found = [one for wave in rounds for one in wave][:count]
    if not found:
        raise EmptySelectionError(
            f"no stretch worth showing in condition {source.condition!r}",
            where=source.folder,
            found=f"{len(source.readers)} recordings without two moving vehicles near each other for "
            f"{design.clips.duration_s:g} s; the longest lasts {longest_s:.1f} s",
            hint="shorten --seconds, or give other recordings",
        )
    order = stream(design.order.seed, "choice", source.condition).permutation(len(found))
    return [found[i] for i in order]


def _scene_key(one: _Found) -> str:
    declared = one.scene.attributes.get("situation")
    if declared is not None:
        return str(declared)
    start = float(one.scene.tracks.time_s[one.window.start])
    return f"{one.scene.provenance.recording}@{start:.1f}"


def _origin(one: _Found) -> dict[str, str | float | int]:
    tracks = one.scene.tracks
    return {
        "dataset": one.scene.provenance.dataset,
        "recording": one.scene.provenance.recording,
        "start_s": round(float(tracks.time_s[one.window.start]), 3),
        "ego": str(tracks.ids[one.window.ego]),
        "rated": str(tracks.ids[one.window.rated]),
    }
