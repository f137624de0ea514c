import pytest

from giveway.core.errors import UnknownNameError
from giveway.core.registry import Registry


def test_nothing_is_imported_until_it_is_asked_for():
    registry: Registry[object] = Registry("thing", {"broken": "no_such_module:x"}, group="giveway.none")
    assert registry.names() == ["broken"]
    with pytest.raises(ModuleNotFoundError):
        registry.get("broken")


def test_unknown_name_suggests_the_nearest():
    registry: Registry[object] = Registry("dataset", {"round": "math:pi", "ind": "math:e"}, group="giveway.none")
    with pytest.raises(UnknownNameError) as caught:
        registry.get("rounD2")
    assert caught.value.suggestions == ["round"]
    assert "did you mean 'round'?" in str(caught.value)


def test_a_name_can_be_taken_only_once():
    registry: Registry[object] = Registry("thing", {"pi": "math:pi"}, group="giveway.none")
    with pytest.raises(ValueError, match="registered already"):
        registry.register("pi", "math:e")
