from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import giveway.serve.web
from giveway.core.errors import ConfigError, EmptySelectionError, StoreError, UnknownNameError
from giveway.study.creation import Plan
from giveway.study.design import OPTIONS, parse_design, read_design, study_id_from, write_design
from giveway.study.export import code_book
from giveway.study.manifest import Clip
from giveway.study.printed_form import printed_lines
from giveway.study.secrets import KEY_VARIABLE, load_key
from giveway.study.templates import published_plan
from giveway.study.texts import bundled_texts, load_texts, placeholders
from giveway.study.workspace import declared_fingerprint, open_study
from support.studies import published_study, synthetic_study


def test_default_options_are_the_published_ones() -> None:
    assert OPTIONS == (
        "Very unrealistic",
        "Slightly unrealistic",
        "Neutral",
        "Slightly realistic",
        "Very realistic",
    )


def test_file_and_value_round_trip(tmp_path: Path) -> None:
    content = {
        "id": "x",
        "title": 'A "quoted" title — with\ttab',
        "exclusions": {"max_failed_checks": False, "max_anchor_mean": 2.5},
        "order": {"seed": 4, "clips_per_rater": 12},
    }
    for recorded in ({}, {"recorded": False}, {"recorded": "human"}):
        design = parse_design({**content, **recorded}, where="test")
        write_design(tmp_path, design)
        assert read_design(tmp_path) == design
    assert design.exclusions.max_failed_checks is None


def test_unknown_keys_get_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError) as error:
        parse_design({"id": "x", "order": {"sed": 1}}, where="study.toml")
    assert "seed" in error.value.suggestions


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"id": "../x"},
        {"id": "x", "options": ["a"]},
        {"id": "x", "options": ["a", "a"]},
        {"id": "x", "realistic_from": 9},
        {"id": "x", "order": {"clips_per_rater": 41}},
        {"id": "x", "clips": {"duration_s": "long"}},
        {"id": "x", "flow": {"completion_url": "javascript:alert(1)"}},
        {"id": "x", "language": "../../etc"},
    ],
)
def test_impossible_declarations_are_refused(content: dict) -> None:
    with pytest.raises(ConfigError):
        parse_design(content, where="study.toml")


def test_broken_toml_and_missing_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a study folder"):
        read_design(tmp_path)
    (tmp_path / "study.toml").write_text("id = ")
    with pytest.raises(ConfigError, match="does not parse"):
        read_design(tmp_path)


def test_changing_the_file_after_the_start_is_noticed(study) -> None:
    text = (study.folder / "study.toml").read_text()
    (study.folder / "study.toml").write_text(text.replace("max_failed_checks = 0", "max_failed_checks = 5"))
    changed = open_study(study.folder)
    assert declared_fingerprint(changed) != changed.design.fingerprint
    changed.engine.dispose()


def test_a_declaration_without_recorded_traffic_keeps_its_fingerprint() -> None:
    """Studies that were opened before the key existed must not be reported as changed."""
    assert parse_design({"id": "x"}, where="test").fingerprint == "8a14bf7347051497"
    assert parse_design({"id": "x", "recorded": "y"}, where="test").fingerprint != "8a14bf7347051497"


def test_recorded_traffic_must_be_a_condition_of_the_study(study) -> None:
    toml = study.folder / "study.toml"
    text = toml.read_text()
    toml.write_text(text.replace('recorded = "recorded"', 'recorded = "recordd"'))
    with pytest.raises(UnknownNameError) as error:
        open_study(study.folder)
    assert error.value.suggestions == ["recorded"]
    toml.write_text(text.replace('recorded = "recorded"', "recorded = false"))
    opened = open_study(study.folder)
    assert opened.recorded is None
    opened.engine.dispose()


def test_database_of_another_study_is_refused(study) -> None:
    text = (study.folder / "study.toml").read_text()
    (study.folder / "study.toml").write_text(text.replace('id = "synthetic"', 'id = "other"'))
    with pytest.raises(StoreError, match="another study"):
        open_study(study.folder)


def test_published_template_is_one_introduction_and_36_sections(tmp_path: Path) -> None:
    content, plan = published_plan({"id": "x", "order": {"seed": 3}}, Plan())
    design = parse_design(content, where="template")
    assert plan.num_clips == 36
    assert plan.num_anchors == 0
    assert design.order.fixed
    assert (design.order.repeat_share, design.order.attention_checks, design.order.practice_clips) == (0, 0, 0)
    assert (design.flow.eligibility, design.flow.comment, design.flow.demographics) == ((), False, False)
    assert set(design.exclusions.model_dump().values()) == {None, False}
    assert (design.profile, parse_design({"id": "x"}, where="test").profile) == ("printed", "clean")
    write_design(tmp_path, design)
    assert read_design(tmp_path) == design


GOLDEN_SECTIONS = {
    1: "fb187a42c453726eb9c7833565d29c6aab9cb6ba5ec053a1eba3bb729b8d91dd",
    36: "aa6ac1d43053581d60e87612aa8c5b1f7a3f1732d252045082b0edf43bedbd8d",
}


@pytest.mark.parametrize("video", GOLDEN_SECTIONS)
def test_printed_sections_have_their_golden_hash(video: int) -> None:
    text = "\n".join(printed_lines(video))
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN_SECTIONS[video]


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("question", {"question": "How realistic is it?"}),
        ("options", {"options": ["No", "Yes"], "realistic_from": 2}),
        ("clips.focus", {"clips": {"focus": "rated"}}),
        ("order.fixed", {"order": {"repeat_share": 0.0, "attention_checks": 0, "practice_clips": 0}}),
        ("flow.comment", {"flow": {"eligibility": [], "demographics": False}}),
        ("exclusions", {"exclusions": {}}),
        ("language", {"language": "de"}),
    ],
)
def test_a_changed_printed_form_is_refused(key: str, change: dict) -> None:
    content, _ = published_plan({"id": "x", "order": {"seed": 3}}, Plan())
    with pytest.raises(ConfigError, match=key):
        parse_design({**content, **change}, where="study.toml")


def test_the_printed_form_needs_its_36_videos(tmp_path: Path) -> None:
    with pytest.raises(EmptySelectionError, match="36 videos"):
        published_study(tmp_path / "s", num_worlds=8)
    assert not (tmp_path / "s").exists()


def test_clips_of_the_printed_form_single_out_nobody(tmp_path: Path) -> None:
    folder = published_study(tmp_path / "s")
    documents = [json.loads(path.read_text()) for path in sorted((folder / "clips").glob("*.json"))]
    assert len(documents) == 36
    for document in documents:
        assert [agent["role"] for agent in document["agents"]].count("ego") == 1
        assert {agent["role"] for agent in document["agents"]} == {"ego", "other"}
        assert not any(agent.get("label") for agent in document["agents"])
        assert "rated" not in json.dumps(document)


def test_the_code_book_says_which_words_are_printed(tmp_path: Path) -> None:
    study = open_study(published_study(tmp_path / "s"))
    form = code_book(study)["form"]
    assert form["section 1"].startswith("our text")
    assert form["first video"] == printed_lines(1)
    study.engine.dispose()


def test_ids_made_from_folder_names_are_valid() -> None:
    for name in ("my study (2)", "...", "ä", "x" * 200, "_x", "-_.", "_" + "x" * 64):
        parse_design({"id": study_id_from(name)}, where="test")


def test_key_file_is_private_and_others_are_refused(study, monkeypatch) -> None:
    path = study.folder / "secret.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "..." in repr(study.key)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="others can read"):
        load_key(study.folder)
    monkeypatch.setenv(KEY_VARIABLE, "short")
    with pytest.raises(ConfigError, match="too short"):
        load_key(study.folder)


def test_sealed_texts_open_with_the_same_key_only(study, tmp_path: Path) -> None:
    sealed = study.key.seal("5f1e")
    assert b"5f1e" not in sealed
    assert study.key.unseal(sealed) == "5f1e"
    assert load_key(tmp_path).unseal(sealed) is None
    assert study.key.unseal(sealed[:-2] + b"xx") is None


def test_translation_replaces_texts_and_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "texts.de.toml"
    path.write_text('consent_submit = "Los"\nrate_title = "Clip {number} von {total}"\n')
    texts = load_texts(tmp_path, "de")
    assert (texts["consent_submit"], texts["done_title"]) == ("Los", "Thank you")
    for bad, error in (('rate_title = "Clip {nummer}"', ConfigError), ('consent_sumbit = "x"', UnknownNameError)):
        path.write_text(bad)
        with pytest.raises(error):
            load_texts(tmp_path, "de")
    with pytest.raises(ConfigError, match="no translation"):
        load_texts(tmp_path, "fr")


def test_every_text_has_balanced_placeholders() -> None:
    assert all("unbalanced brace" not in placeholders(text) for text in bundled_texts().values())


def test_every_text_is_used_by_a_page() -> None:
    web = Path(giveway.serve.web.__file__).parent
    pages = "".join(path.read_text() for path in [*web.glob("templates/*.html"), *web.glob("*.py")])
    composed = ("refused_", "practice_feedback_")
    assert [key for key in bundled_texts() if f'"{key}"' not in pages and not key.startswith(composed)] == []


def test_clips_refuse_unknown_fields() -> None:
    with pytest.raises(ValueError, match="extra"):
        Clip.model_validate({"clip": "a", "condition": "b", "scene": "c", "duration_s": 1, "x": 1})


def test_study_folder_can_be_named_anything(tmp_path: Path) -> None:
    opened = open_study(synthetic_study(tmp_path / "100% real & more", num_clips=4, num_anchors=0))
    assert len(opened.stimuli) == 4
    opened.engine.dispose()
