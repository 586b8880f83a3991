from typing import Any

from benchmarks.original import ratios, summary


def numbers(train_call_ms: float, env_steps_per_s: float, **share: float) -> dict[str, Any]:
    return {"train_call_ms": train_call_ms, "env_steps_per_s": env_steps_per_s, "share": share}


ROUNDS = [
    {"original": numbers(2, 100, training=0.5), "float32": numbers(1, 150, training=0.4)},
    {"original": numbers(6, 200, training=0.7), "float32": numbers(2, 400, training=0.2)},
    {"original": numbers(4, 100, training=0.6), "float32": numbers(8, 160, training=0.3)},
]


def test_ratios_are_of_one_round_each() -> None:
    assert ratios(ROUNDS, "float32") == {"train call": [2, 3, 0.5], "loop": [1.5, 2, 1.6]}


def test_the_summary_has_medians_and_ranges_and_shares_of_both_threads() -> None:
    beside = [row | {"float32": row["float32"] | {"share_beside": {"acting": 0.25}}} for row in ROUNDS]
    lines = summary(beside).splitlines()
    assert lines[2:4] == [
        "| original | 4.00 (2.00 to 6.00) | 100 (100 to 200) |  |  |",
        "| float32 | 2.00 (1.00 to 8.00) | 160 (150 to 400) | 2.00 (0.50 to 3.00) | 1.60 (1.50 to 2.00) |",
    ]
    assert lines[7:] == [
        "| original | 0.0% | 0.0% | 0.0% | 60.0% | 0.0% |",
        "| float32 | 0.0% | 0.0% | 25.0% | 30.0% | 0.0% |",
    ]
