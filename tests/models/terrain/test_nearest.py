"""A table of the nearest places holds those that sorting gives, whatever their order and number."""

import numpy as np

from models.terrain.profile import row_for


def test_a_table_keeps_the_nearest_of_all_that_came():
    random = np.random.default_rng(1)
    for many in (0, 2, 3, 4, 30):
        places = np.column_stack([random.uniform(-1.0, 1.0, many), np.arange(many)])
        found, count = np.full((3, 2), np.nan), 0
        for place in places:
            at = row_for(found, count, 0, place[0])
            if at >= 0:
                found[at] = place
            count = min(count + 1, 3)
        nearest = places[np.argsort(places[:, 0])[:3]]
        assert count == len(nearest)
        assert sorted(found[:count].tolist()) == nearest.tolist()


def test_of_places_as_far_the_first_that_came_stays():
    found = np.array([[0.5, 1.0]])
    assert row_for(found, 1, 0, 0.5) == -1
    assert row_for(found, 1, 0, 0.4999) == 0
