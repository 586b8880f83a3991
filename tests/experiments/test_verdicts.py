from pathlib import Path

import numpy as np
import pytest

from acer_tf.errors import InputError
from acer_tf.experiments.experiment import Criterion, Reference
from acer_tf.experiments.published import ReferenceRun, reference_seeds
from acer_tf.experiments.results import NOTHING, Result, Returns
from acer_tf.experiments.verdicts import NOTHING_LEARNED, Outcome, Verdict, judge, overall
from tests.experiments.samples import evaluations, experiment, result

CARTPOLE = ("CartPole-v1",)
HALF = (0.5, 1.0)
SAME = Criterion("same", "a", CARTPOLE, HALF, reference="theirs", margin=0.3)
REACHES = Criterion("reaches", "a", CARTPOLE, HALF, values={"CartPole-v1": 10.0})


def results(scores: list[float], variation: str = "a", env: str = "CartPole-v1") -> list[Result]:
    return [result(score, seed, variation, env) for seed, score in enumerate(scores)]


def references(scores: list[float], end: float = 1000.0) -> list[ReferenceRun]:
    steps = np.array([end / 2, end])
    return [
        ReferenceRun("theirs", "CartPole-v1", str(seed), Returns(steps, np.array([0.0, score]), np.ones(2), np.ones(2)))
        for seed, score in enumerate(scores)
    ]


def test_seeds_of_references_are_whole_numbers() -> None:
    (first,) = references([1.0])
    assert reference_seeds([first._replace(seed="20.0"), first._replace(seed="")], "theirs", "CartPole-v1", 1000) == {
        20
    }
    with pytest.raises(InputError, match="the reference theirs has seeds that are not whole numbers"):
        reference_seeds([first._replace(seed="first")], "theirs", "CartPole-v1", 1000)


def judged(criterion: Criterion, scores: list[float], others: list[float] | None = None) -> Verdict:
    found = {("a", "CartPole-v1"): results(scores)}
    (verdict,) = judge(experiment(criterion, seeds=5), found, references(others or []))
    return verdict


THEIRS = [10.0, 11.0, 12.0, 13.0, 14.0]  # 10 above random play: the margin is 3


@pytest.mark.parametrize(
    ("scores", "outcome"),
    [
        ([10.1, 11.1, 12.1, 13.1, 14.1], Outcome.YES),
        ([13.0, 13.5, 15.0, 14.5, 14.2], Outcome.UNDECIDED),  # the interval, 0.5 to 3.6, straddles the margin
        ([9.0, 11.0, 13.0, 15.0, 22.0], Outcome.UNDECIDED),
        ([15.9, 16.9, 17.9, 18.9, 19.9], Outcome.NO),  # from 4.04 on
        ([50.0, 51.0, 52.0, 53.0, 54.0], Outcome.NO),
    ],
)
def test_the_same_as_the_references_seeds(scores: list[float], outcome: Outcome) -> None:
    verdict = judged(SAME, scores, THEIRS)
    assert verdict.outcome is outcome, verdict.numbers


@pytest.mark.parametrize(
    ("others", "outcome"),
    [
        (THEIRS, Outcome.YES),
        ([20.0, 21.0, 22.0, 23.0, 24.0], Outcome.NO),
        (THEIRS[:4], Outcome.INCOMPLETE),
    ],
)
def test_the_same_as_the_seeds_of_another_variation(others: list[float], outcome: Outcome) -> None:
    criterion = SAME._replace(reference="", than="b")
    found = {("a", "CartPole-v1"): results(THEIRS), ("b", "CartPole-v1"): results(others, "b")}
    (verdict,) = judge(experiment(criterion, seeds=5), found, [])
    assert verdict.question == "a is as b, from 50 % to 100 % of the run"
    assert verdict.outcome is outcome, verdict.numbers


def test_the_numbers_behind_a_verdict() -> None:
    verdict = judged(SAME, [10.1, 11.1, 12.1, 13.1, 14.1], THEIRS)
    assert verdict.question == "a is as theirs, from 50 % to 100 % of the run"
    expected = "12.1 (5 seeds), theirs 12 (5); difference 0.1 [-1.76, 1.96] (90 %), margin ±3; p = 0.69"
    assert verdict.numbers == expected


def area(scores: list[float], theirs: float) -> Verdict:
    """Compares areas with one published curve, whose own is a quarter of its last value."""
    criterion = SAME._replace(of="area", window=(0.0, 1.0), margin=0.1)
    (verdict,) = judge(experiment(criterion, seeds=5), {("a", "CartPole-v1"): results(scores)}, references([theirs]))
    return verdict


def test_the_area_below_the_curve_of_a_reference_without_seeds() -> None:
    verdict = area([33.0, 33.1, 33.2, 33.3, 33.4], theirs=50.0)  # 0.375 * 33.2 + 0.125
    assert verdict.question == "a is as theirs, in the area below the curve from 0 % to 100 % of the run"
    assert verdict.numbers == "12.57 (5 seeds), theirs 12.5 (1); difference 0.075 [0.01847, 0.1315] (90 %), margin ±4.8"
    assert verdict.outcome is Outcome.YES
    assert area([33.0, 43.0, 53.0, 33.0, 43.0], theirs=50.0).outcome is Outcome.UNDECIDED
    assert area([63.0, 63.1, 63.2, 63.3, 63.4], theirs=50.0).outcome is Outcome.NO


def test_one_seed_decides_nothing() -> None:
    criterion = SAME._replace(of="area", margin=0.1)
    (verdict,) = judge(experiment(criterion, seeds=1), {("a", "CartPole-v1"): results([12.0])}, references([12.0]))
    assert verdict.outcome is Outcome.UNDECIDED
    (verdict,) = judge(experiment(REACHES, seeds=1), {("a", "CartPole-v1"): results([99.0])}, [])
    assert verdict.outcome is Outcome.UNDECIDED


def test_a_smaller_margin_makes_it_undecided() -> None:
    assert judged(SAME._replace(margin=0.1), [10.1, 11.1, 12.1, 13.1, 14.1], THEIRS).outcome is Outcome.UNDECIDED


def test_a_reference_that_ends_before_the_window_does_not_count() -> None:
    found = {("a", "CartPole-v1"): results(THEIRS)}
    (verdict,) = judge(experiment(SAME, seeds=5), found, references(THEIRS, end=900))
    assert verdict.outcome is Outcome.UNDECIDED and verdict.numbers == "the reference has no run as long as that"


def test_a_value_is_reached_by_the_mean_over_seeds() -> None:
    assert judged(REACHES, [10.1, 11.1, 12.1, 13.1, 14.1]).outcome is Outcome.YES  # 1.963 around 12.1
    assert judged(REACHES, [9.9, 10.9, 11.9, 12.9, 13.9]).outcome is Outcome.UNDECIDED
    assert judged(REACHES, [6.1, 7.1, 8.1, 9.1, 10.1]).outcome is Outcome.UNDECIDED
    assert judged(REACHES, [6.0, 7.0, 8.0, 9.0, 10.0]).outcome is Outcome.NO
    assert judged(REACHES, [6.0, 7.0, 8.0, 9.0, 10.0]).numbers == "8 [6.037, 9.963], least 6 (5 seeds)"
    assert judged(REACHES._replace(window=(0.0, 0.5)), [99.0] * 5).outcome is Outcome.NO  # only the second half is high


def test_a_value_may_have_to_be_reached_by_every_seed_and_in_time() -> None:
    every = REACHES._replace(every_seed=True)
    assert judged(every, [10.0, 11.0, 12.0, 13.0, 14.0]).outcome is Outcome.YES
    verdict = judged(every, [9.9, 11.0, 12.0, 13.0, 14.0])
    assert verdict.outcome is Outcome.NO
    assert verdict.question == "a reaches 10 with every seed, from 50 % to 100 % of the run"
    in_time = REACHES._replace(minutes=0.1)  # every run of the samples takes 5 seconds
    assert judged(in_time, [10.0] * 5).outcome is Outcome.YES
    verdict = judged(in_time._replace(minutes=0.05), [10.0] * 5)
    assert verdict.outcome is Outcome.NO and verdict.numbers.endswith("longest run 0.1 minutes")
    assert verdict.question.endswith("of the run, in at most 0.05 minutes")


def test_a_value_may_be_reached_by_the_last_episodes_or_by_evaluations() -> None:
    evaluated = evaluations((400, 0.0), (700, 12.0), (1000, 14.0))
    found = [r._replace(facts={**r.facts, "last_100": 11.0}, evaluations=evaluated) for r in results([9.0] * 3)]
    criteria = [REACHES._replace(of=of) for of in ("training", "last_100", "evaluations")]
    training, last, by_evaluations = judge(experiment(*criteria), {("a", "CartPole-v1"): found}, [])
    assert [v.outcome for v in (training, last, by_evaluations)] == [Outcome.NO, Outcome.YES, Outcome.YES]
    assert (last.question, last.numbers) == (
        "a reaches 10, in the last 100 episodes",
        "11 [11, 11], least 11 (3 seeds)",
    )
    assert by_evaluations.question == "a reaches 10, in evaluations from 50 % to 100 % of the run"
    assert by_evaluations.numbers == "13 [13, 13], least 13 (3 seeds)"
    found[0] = found[0]._replace(evaluations=NOTHING)
    (verdict,) = judge(experiment(criteria[2]), {("a", "CartPole-v1"): found}, [])
    assert (verdict.outcome, verdict.numbers) == (Outcome.INCOMPLETE, "2 of 3 seeds")


def test_a_missing_seed_or_one_under_way_leaves_everything_open() -> None:
    verdict = judged(REACHES, [99.0] * 4)
    assert (verdict.outcome, verdict.numbers) == (Outcome.INCOMPLETE, "4 of 5 seeds")
    found = {("a", "CartPole-v1"): [*results([99.0] * 4), result(99.0, 4, trained=999)]}
    (verdict,) = judge(experiment(REACHES, seeds=5), found, [])
    assert verdict.outcome is Outcome.INCOMPLETE
    assert judged(SAME, [12.0], THEIRS).outcome is Outcome.INCOMPLETE


def test_a_further_seed_does_not_stand_in_for_a_missing_one() -> None:
    found = {("a", "CartPole-v1"): [*results([99.0] * 4), result(99.0, 5)]}
    (verdict,) = judge(experiment(REACHES, seeds=5), found, [])
    assert (verdict.outcome, verdict.numbers) == (Outcome.INCOMPLETE, "4 of 5 seeds")
    found["a", "CartPole-v1"].append(result(9.0, 4))
    (verdict,) = judge(experiment(REACHES, seeds=5), found, [])
    assert (verdict.outcome, verdict.numbers) == (Outcome.YES, "84 [45.44, 122.6], least 9 (6 seeds)")


def test_each_environment_is_judged_once_all_of_its_own_seeds_are_there() -> None:
    names = ("CartPole-v1", "Acrobot-v1")
    whole = experiment(REACHES._replace(values=dict.fromkeys(names, 10.0), envs=names), envs=names)
    few, many = (env._replace(seeds=seeds) for env, seeds in zip(whole.envs, (2, 4), strict=True))
    found = {("a", env): results([99.0] * 3, "a", env) for env in names}
    first, second = judge(whole._replace(envs=(few, many)), found, [])
    assert (first.outcome, first.numbers) == (Outcome.YES, "99 [99, 99], least 99 (3 seeds)")
    assert (second.outcome, second.numbers) == (Outcome.INCOMPLETE, "3 of 4 seeds")


@pytest.mark.parametrize(
    ("recorded", "seeds"),
    [
        (references(THEIRS[:4]), "9 of 10 seeds"),
        ([*references(THEIRS[:4]), *references(THEIRS, end=900.0)[4:]], "9 of 10 seeds"),  # one that was cut
        ([r._replace(seed=str(int(r.seed) + 1)) for r in references(THEIRS)], "9 of 10 seeds"),  # 1 to 5
        ([references(THEIRS)[0]._replace(seed="")], "5 of 10 seeds"),
        (references(THEIRS), ""),
    ],
)
def test_a_reference_that_is_to_have_the_same_seeds_is_awaited(recorded: list[ReferenceRun], seeds: str) -> None:
    theirs = Reference("theirs", "S", curves=Path("theirs.csv"), same_seeds=True)
    e = experiment(SAME, seeds=5)._replace(references=(Reference("others", "S"), theirs))
    (verdict,) = judge(e, {("a", "CartPole-v1"): results(THEIRS)}, recorded)
    if seeds:
        assert (verdict.outcome, verdict.numbers) == (Outcome.INCOMPLETE, seeds)
    else:
        assert verdict.outcome is Outcome.YES
    (verdict,) = judge(
        e._replace(references=(theirs._replace(same_seeds=False),)), {("a", "CartPole-v1"): results(THEIRS)}, recorded
    )
    assert verdict.outcome is not Outcome.INCOMPLETE


def better(first: list[float], second: list[float], env: str = "Acrobot-v1") -> Verdict:
    criterion = Criterion("better", "a", ("CartPole-v1", env), HALF, than="b")
    found = {
        (variation, e): results(scores, variation, e)
        for variation, scores in (("a", first), ("b", second))
        for e in ("CartPole-v1", env)
    }
    (verdict,) = judge(experiment(criterion, seeds=5, envs=("CartPole-v1", env)), found, [])
    return verdict


def test_better_is_a_probability_of_improvement_above_one_half() -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 5.0, 6.0, 7.0, 8.0]
    assert better(high, low).outcome is Outcome.YES
    assert better(low, high).outcome is Outcome.NO
    assert better(low, [1.1, 2.1, 3.1, 4.1, 5.1]).outcome is Outcome.UNDECIDED
    assert better(high, low).numbers.startswith("probability 0.92 [")
    assert better(high, low[:4]).numbers == "18 of 20 runs"
    assert better(high, low[:4]).outcome is Outcome.INCOMPLETE
    assert better(high, low).env == "" and better(high, low).numbers.endswith("] over 2 tasks; p = 0.0011")


def test_better_compares_the_seeds_of_the_experiment_where_there_are_others() -> None:
    criterion = Criterion("better", "a", CARTPOLE, HALF, than="b")
    own = {
        ("a", "CartPole-v1"): [result(score, seed) for seed, score in enumerate((1.0, 2.0, 3.0, 4.0, 5.0), 10)],
        ("b", "CartPole-v1"): [result(score, seed, "b") for seed, score in enumerate((4.0, 5.0, 6.0, 7.0, 8.0), 10)],
    }
    more = {**own, ("a", "CartPole-v1"): [*(result(50.0, seed) for seed in range(5)), *own["a", "CartPole-v1"]]}
    judged = [judge(experiment(criterion, seeds=5)._replace(first_seed=10), found, []) for found in (own, more)]
    assert judged[0] == judged[1] and judged[0][0].outcome is Outcome.NO


def test_better_in_one_environment_names_it() -> None:
    criterion = Criterion("better", "a", ("CartPole-v1",), HALF, than="b")
    found = {("a", "CartPole-v1"): results([4.0, 5.0, 6.0]), ("b", "CartPole-v1"): results([1.0, 2.0, 3.0], "b")}
    (verdict,) = judge(experiment(criterion, seeds=3), found, [])
    assert (verdict.env, verdict.numbers) == ("CartPole-v1", "probability 1.00 [1.00, 1.00]; p = 0.1")
    assert verdict.outcome is Outcome.UNDECIDED  # one of ten arrangements of six seeds is as good


@pytest.mark.parametrize(
    ("ahead", "outcome"), [(3.5, Outcome.YES), (2.9, Outcome.NO), (3.0, Outcome.UNDECIDED), (0.0, Outcome.NO)]
)
def test_better_by_a_margin_is_by_a_share_of_what_the_variation_has_learned(ahead: float, outcome: Outcome) -> None:
    criterion = Criterion("better", "a", CARTPOLE, HALF, than="b", margin=0.3)
    first = [12.0, 12.01, 12.02, 12.03, 11.94]  # 15 in the last tenth, 13 above random play: the margin is 3.9
    second = [score - ahead * 1.3 for score in first]
    found = {("a", "CartPole-v1"): results(first), ("b", "CartPole-v1"): results(second, "b")}
    (verdict,) = judge(experiment(criterion, seeds=5), found, [])
    assert verdict.outcome is outcome, verdict.numbers
    assert verdict.question == "a is better than b by more than 30 % of what it learns, from 50 % to 100 % of the run"


@pytest.mark.parametrize("kind", ["same", "better"])
def test_where_nothing_is_learned_no_margin_is_a_share_of_it(kind: str) -> None:
    """Random play is at 2; a negative margin would turn verdicts round."""
    criterion = Criterion(kind, "a", CARTPOLE, HALF, than="b", margin=0.3, of="area")
    learned, not_learned = [5.0, 6.0, 7.0, 8.0, 9.0], [-5.0, -4.9, -4.8, -4.7, -4.6]
    first, second = (learned, not_learned) if kind == "same" else (not_learned, learned)
    found = {("a", "CartPole-v1"): results(first), ("b", "CartPole-v1"): results(second, "b")}
    (verdict,) = judge(experiment(criterion, seeds=5), found, [])
    assert (verdict.numbers, verdict.outcome) == (NOTHING_LEARNED, Outcome.UNDECIDED)


def test_one_seed_of_another_variation_is_not_exact() -> None:
    criterion = SAME._replace(reference="", than="b")
    envs = experiment(criterion, seeds=1)
    found = {("a", "CartPole-v1"): results(THEIRS), ("b", "CartPole-v1"): results([12.0], "b")}
    (verdict,) = judge(envs, found, [])
    assert verdict.outcome is Outcome.UNDECIDED and "[nan, nan]" in verdict.numbers


def test_areas_over_minutes_are_those_until_the_first_run_ends() -> None:
    criterion = Criterion("better", "a", CARTPOLE, (0.9, 1.0), of="area_of_minutes", than="b")
    slow = [r._replace(training=r.training._replace(seconds=r.training.steps / 100)) for r in results([9.0] * 4, "b")]

    def judged_with(scores: list[float]) -> Verdict:
        found = {("a", "CartPole-v1"): results(scores), ("b", "CartPole-v1"): slow}
        (verdict,) = judge(experiment(criterion, seeds=4), found, [])
        return verdict

    # After the 5 s that a takes, b is half through and has an area of 0, not of its whole run.
    assert judged_with([1.0, 1.1, 1.2, 1.3]).outcome is Outcome.YES
    assert judged_with([1.0, 1.1, 1.2, 1.3]).question == (
        "a is better than b, in the area below the curve over minutes, until the first of all runs ends"
    )
    assert judged_with([-9.0, -9.1, -9.2, -9.3]).outcome is Outcome.NO
    assert judged_with([1.0, 1.1, 1.2]).numbers == "7 of 8 runs"


def test_outcomes_in_a_few_words() -> None:
    verdicts = [Verdict("", "", "", outcome) for outcome in (*Outcome, Outcome.NO)]
    assert overall(verdicts) == "1 of 5 reproduced, 2 not reproduced, 1 undecided, 1 incomplete"
    assert overall(verdicts[:1]) == "1 of 1 reproduced"
    assert overall([]) == "no criteria"
