import dataclasses

import numpy as np
import pytest

from giveway.core.errors import DataError
from giveway.data import DATASETS
from giveway.data.convert import convert
from giveway.testing.datasets import check_dataset

NAMES = DATASETS.names()


@pytest.fixture
def store_root(round_root, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    list(convert("round", round_root, store))
    return store


@pytest.mark.parametrize("name", NAMES)
def test_every_registered_dataset_keeps_the_contract(name, request):
    check_dataset(DATASETS.get(name), request.getfixturevalue(f"{name}_root"))


@pytest.mark.parametrize("name", NAMES)
def test_files_of_one_dataset_are_recognized_when_another_is_named(name, request):
    root = request.getfixturevalue(f"{name}_root")
    other = "interaction" if name != "interaction" else "leeds"
    (problem,) = DATASETS.get(other).verify(root).problems
    assert f"--dataset {name}" in (problem.hint or "")


class Wrapped:
    """An adapter whose scenes are altered, to see the checks fail."""

    def __init__(self, inner, alter):
        self.inner, self.alter = inner, alter
        self.info = inner.info

    def recordings(self, root):
        return self.inner.recordings(root)

    def scenes(self, recording):
        yield from map(self.alter, self.inner.scenes(recording))

    def verify(self, root, *, progress=None, accept_implausible=False):
        return self.inner.verify(root, progress=progress)


def with_tracks(scene, **changes):
    return dataclasses.replace(scene, tracks=dataclasses.replace(scene.tracks, **changes))


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda s: with_tracks(s, xy=np.nan_to_num(s.tracks.xy)), "values where nothing was seen"),
        (lambda s: with_tracks(s, ids=np.full_like(s.tracks.ids, "1")), "ids are not unique"),
        (lambda s: with_tracks(s, size=np.zeros_like(s.tracks.size)), "size is not positive"),
        (lambda s: dataclasses.replace(s, tracks=s.tracks.select(slice(1, None))), "verify counts"),
        (lambda s: with_tracks(s, xy=s.tracks.xy + np.random.default_rng().random()), "second reading"),
    ],
)
def test_the_checks_notice_an_adapter_that_lies(round_root, alter, message):
    with pytest.raises(DataError, match="breaks the contract") as caught:
        check_dataset(Wrapped(DATASETS.get("round"), alter), round_root)
    assert message in (caught.value.found or "")
