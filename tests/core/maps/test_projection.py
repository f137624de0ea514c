import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.roads.projection import UtmProjection


def test_the_golden_node_of_the_public_maps():
    xy = UtmProjection().to_xy(0.00948266565, 0.00851909633)
    np.testing.assert_allclose(xy, [949.273, 1049.559], atol=0.01)


def test_the_origin_is_in_zone_31_and_at_166_kilometers():
    projection = UtmProjection()
    assert projection.zone == 31
    np.testing.assert_allclose(projection.origin_m, [166_021.443, 0.0], atol=1e-3)
    np.testing.assert_allclose(projection.to_xy(0.0, 0.0), [0.0, 0.0], atol=1e-9)


def test_the_golden_node_of_a_round_map_in_the_zone_of_its_recording():
    lat, lon = 50.79070934384, 6.05977243658
    origin = (292_669.4681, 5_630_731.7040)
    np.testing.assert_allclose(UtmProjection.of_epsg(32632).to_xy(lat, lon), [292_776.829, 5_630_672.865], atol=1e-3)
    for projection in (
        UtmProjection.of_epsg(32632, origin),
        UtmProjection(origin_lat_deg=50.79, origin_lon_deg=6.06, grid_origin_m=origin),
    ):
        assert projection.zone == 32
        np.testing.assert_allclose(projection.to_xy(lat, lon), [107.361, -58.839], atol=1e-3)


def test_southern_zones_have_the_false_northing_of_utm():
    north = UtmProjection.of_epsg(32756).to_xy(-33.86, 151.2)
    south = UtmProjection.of_epsg(32756 - 100).to_xy(-33.86, 151.2)
    np.testing.assert_allclose(north - south, [0.0, 1e7])
    with pytest.raises(ValueError, match="EPSG 25832"):
        UtmProjection.of_epsg(25832)


def test_the_linear_fit_of_the_design_note_holds_over_the_area_in_use():
    lat, lon = np.meshgrid(np.linspace(0.0081, 0.0104, 9), np.linspace(0.0081, 0.0104, 9))
    fit = np.stack([111428.54 * lon, 110682.28 * lat], axis=-1)
    np.testing.assert_allclose(UtmProjection().to_xy(lat, lon), fit, atol=0.007)


def test_distance_along_the_central_meridian_is_the_scaled_meridian_arc():
    projection = UtmProjection(origin_lat_deg=0.0, origin_lon_deg=3.0)
    arc_45_m = 4_984_944.378  # WGS 84, from the equator to 45 degrees
    np.testing.assert_allclose(projection.to_xy(45.0, 3.0), [0.0, 0.9996 * arc_45_m], atol=1e-3)


def test_a_known_point_in_another_zone():
    # CN Tower, worked example of the UTM article of Wikipedia: 17 N, 630084 m east, 4833438 m north.
    projection = UtmProjection(origin_lat_deg=43.0, origin_lon_deg=-79.0)
    assert projection.zone == 17
    xy = projection.to_xy(43.642566, -79.387139) + projection.origin_m
    np.testing.assert_allclose(xy, [630084, 4833438], atol=1.5)


@given(lat=st.floats(-80, 80), lon=st.floats(-3, 9))
def test_there_and_back_is_the_same_place(lat, lon):
    projection = UtmProjection(origin_lat_deg=0.0, origin_lon_deg=3.0)
    np.testing.assert_allclose(projection.to_latlon(projection.to_xy(lat, lon)), [lat, lon], atol=1e-10)
