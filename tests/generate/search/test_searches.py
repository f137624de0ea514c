import numpy as np
import pytest

from giveway.generate.search import SEARCHES
from giveway.generate.search.genetic import GeneticSearch, objectives
from giveway.generate.search.protocol import SearchScores

GENES, EGO = 8, 3


def judged(genes):
    """Scenes are dangerous near one corner, a violation within reach of it."""
    danger = np.exp(-4 * np.abs(genes[:, EGO:] - 0.9).mean(axis=1))
    return SearchScores(
        violation=danger > 0.6,
        danger=danger,
        triggers=(10 * danger).astype(np.int64),
        cells=tuple(f"{int(8 * row[0])} {int(10 * d)}" for row, d in zip(genes, danger, strict=True)),
        quality=danger,
    )


def found(name, seed, generations=25):
    search = SEARCHES.get(name)(EGO, GENES, seed)
    hits = 0
    for _ in range(generations):
        genes = search.ask()
        scores = judged(genes)
        hits += int(scores.violation.sum())
        search.tell(genes, scores)
    return hits


@pytest.mark.parametrize("name", SEARCHES.names())
def test_genes_stay_in_range_and_a_seed_repeats_the_search(name):
    runs = []
    for _ in range(2):
        search = SEARCHES.get(name)(EGO, GENES, 5)
        asked = []
        for _ in range(4):
            genes = search.ask()
            assert genes.shape == (10, GENES)
            assert genes.min() >= 0
            assert genes.max() <= 1
            search.tell(genes, judged(genes))
            asked.append(genes)
        runs.append(np.array(asked))
    np.testing.assert_array_equal(runs[0], runs[1])


@pytest.mark.parametrize("name", ["nsga2", "cma_es", "map_elites"])
def test_a_search_that_learns_finds_more_than_random_draws(name):
    assert sum(found(name, s) for s in range(3)) > 2 * sum(found("random", s) for s in range(3))


def test_objectives_are_violation_distance_and_triggers():
    genes = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    scores = SearchScores(
        violation=np.array([True, False, False]), danger=np.array([1.0, 0.5, 0.0]), triggers=np.array([3, 0, 1])
    )
    np.testing.assert_allclose(objectives(genes, scores), [[1.5, 0.5, 3], [0.25, 0.5, 0], [0.0, 1.0, 1]])


def test_crossover_swaps_the_surrounding_cars_against_the_ego():
    search = GeneticSearch(EGO, GENES, 0)
    first, second = search.swap(np.zeros(GENES), np.ones(GENES))
    assert first.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert second.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_mutation_moves_away_from_scenes_known_to_be_safe():
    search = GeneticSearch(EGO, GENES, 0)
    search.ask()
    start = np.full(GENES, 0.5)
    free = np.mean([np.abs(search.mutate(start) - start).mean() for _ in range(40)])
    search._safe = np.full((1, GENES), 0.5)
    away = np.mean([np.abs(search.mutate(start) - start).mean() for _ in range(40)])
    assert away > 1.3 * free
