from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from acer_tf.gradients import Gradients
from acer_tf.maths.discrete import EPS
from acer_tf.maths.rmsprop import RMSProp
from acer_tf.maths.trust_region import Projection, project
from acer_tf.model import Model
from acer_tf.policies.categorical import CategoricalPolicy
from acer_tf.recordings.compare import compare
from acer_tf.recordings.recorded import read
from tests.recordings.recordings import Arrays, altered, compared, failures

CASES = (
    "mlp_c1_delta_small",
    "mlp_defaults",
    "mlp_discrete",
    "mlp_layer_norm",
    "mlp_many_actions",
    "mlp_no_trust_region",
    "mlp_value_copy",
    "conv_only",
    "cnn_small",
    "cnn",
    "impala_cnn",
    "lstm",
    "lnlstm",
    "cnn_lstm",
)


@pytest.mark.parametrize("name", CASES)
def test_passes(name: str) -> None:
    case = compared(name)
    assert failures(case) == set()
    assert (case.name, case.kind, case.status) == (name, "model", "pass")
    assert len(case.quantities) > 100


def test_unknown_networks_are_unsupported(tmp_path: Path) -> None:
    case = compare(read(altered(tmp_path, "mlp_discrete", lambda arrays, config: config.update(network="mlq"))))
    assert case.status == "unsupported"
    assert "network 'mlq' does not exist" in case.note


def _retrace_truncated_at_c(rewards, continues, q_i, v, rho_i, gamma):
    z, q_ret = v[:, -1], []
    for t in reversed(range(rewards.shape[1])):
        q_ret.append(rewards[:, t] + gamma * continues[:, t] * z)
        z = tf.minimum(1.5, rho_i[:, t]) * (q_ret[-1] - q_i[:, t]) + v[:, t]
    return tf.stop_gradient(tf.stack(q_ret[::-1], axis=1))


def test_retrace_truncated_at_c_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acer_tf.policies.base.retrace", _retrace_truncated_at_c)
    failed = failures(compared("mlp_discrete"))
    assert {"out/qret", "out/loss_q", "log/loss_q"} <= failed
    assert not {"out/rho_i", "out/f_pol", "step/mus"} & failed


def test_average_that_never_moves_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def step_only(self: Model, gradients: Gradients, lr: tf.Tensor) -> None:
        self.optimizer.learning_rate.assign(lr)
        self.optimizer.apply(gradients.clipped)

    monkeypatch.setattr(Model, "_apply", step_only)
    failed = failures(compared("mlp_discrete"))
    assert {"ema1/acer_model/q/w", "ema_N/acer_model/q/w"} <= failed
    assert not any(name.startswith(("out/", "param1/", "rms1/")) for name in failed)


def test_entropy_outside_the_trust_region_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, tf.Tensor] = {}
    losses = CategoricalPolicy.losses

    def remember(self: CategoricalPolicy, evaluation: Any, segment: Any, config: Any) -> Any:
        seen["f"] = evaluation.f
        return losses(self, evaluation, segment, config)

    def project_without_entropy(g: tf.Tensor, k: tf.Tensor, delta: float) -> Projection:
        entropy_part = -0.01 * (tf.math.log(seen["f"] + EPS) + seen["f"] / (seen["f"] + EPS))
        inside = project(g - entropy_part, k, delta)
        return inside._replace(z=inside.z + entropy_part)

    monkeypatch.setattr(CategoricalPolicy, "losses", remember)
    monkeypatch.setattr("acer_tf.gradients.project", project_without_entropy)
    failed = failures(compared("mlp_discrete"))
    assert {"out/grads_f", "out/adj", "grad_policy/acer_model/pi/w"} <= failed
    assert "out/g" not in failed


def test_slots_from_zeros_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    build = RMSProp.build

    def from_zeros(self: RMSProp, variables: list) -> None:
        build(self, variables)
        for slot in self.mean_squares:
            slot.assign(tf.zeros_like(slot))

    monkeypatch.setattr(RMSProp, "build", from_zeros)
    failed = failures(compared("mlp_c1_delta_small"))
    assert {"rms1/acer_model/q/w", "param1/acer_model/q/w"} <= failed
    assert not any(name.startswith(("out/", "grad_")) for name in failed)


def test_epsilon_outside_the_root_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def outside(self: RMSProp, gradients: list[tf.Tensor]) -> None:
        for variable, slot, gradient in zip(self._variables, self.mean_squares, gradients, strict=True):
            slot.assign(self._rho * slot + (1 - self._rho) * tf.square(gradient))
            variable.assign_sub(self.learning_rate * gradient / (tf.sqrt(slot) + self._epsilon))

    monkeypatch.setattr(RMSProp, "apply", outside)
    failed = failures(compared("mlp_discrete"))
    assert "param1/acer_model/q/w" in failed
    assert not any(name.startswith(("out/", "grad_", "rms1/")) for name in failed)


def test_k_without_the_average_policy_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CategoricalPolicy, "kl_gradient", lambda self, f_avg, f: -1.0 / (f + EPS))
    failed = failures(compared("mlp_discrete"))
    assert {"out/k", "out/adj", "log/avg_norm_k"} <= failed
    assert "out/g" not in failed


def _shorter(arrays: Arrays, config: dict[str, Any]) -> None:
    """Two calls only, other names of parameters, no bound on the gradient, an array as samples."""
    for key in list(arrays):
        if "_N/" in key:
            del arrays[key]
        elif key.startswith("batch/") or key == "log":
            arrays[key] = arrays[key][:2]
    names = {name: f"p{i}" for i, name in enumerate(config["params"])}
    for key in list(arrays):
        group, _, name = key.partition("/")
        if name in names:
            arrays[f"{group}/{names[name]}"] = arrays.pop(key)
    gradient = arrays.pop("grad_raw/p2").reshape(-1)
    arrays |= {"grad_raw.head/p2": gradient[:10], "grad_raw.stride/p2": gradient[::7], "grad_raw.step/p2": np.array(7)}
    arrays["grad_raw.norm/p2"] = np.linalg.norm(gradient.astype(np.float64))
    config.update(params=list(names.values()), n_calls=2, max_grad_norm=None)


def test_other_recordings_work(tmp_path: Path) -> None:
    case = compare(read(altered(tmp_path, "mlp_no_trust_region", _shorter)))
    assert failures(case) == set()
    assert (case.name, case.status) == ("another-name", "pass")
    assert {"grad_raw/p2", "param1/p0"} <= {quantity.name for quantity in case.quantities}


def test_every_altered_number_fails(tmp_path: Path) -> None:
    changed = (
        "step/q",
        "out/pi_logits",
        "out/polyak_q_full",
        "out/rho",
        "grad_clip/p7",
        "grad_raw.stride/p2",
        "ema1/p0",
    )

    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        _shorter(arrays, config)
        for key in changed:
            arrays[key].reshape(-1)[1] += 0.01 * np.abs(arrays[key]).max()
        arrays["out/entropy"] = np.float32(np.nan)
        arrays["log"][1, 0] += 0.1
        arrays["batch/lr"][1] *= 1.0001
        arrays["out/unheard_of"] = np.ones(3)

    expected = {key.replace(".stride", "") for key in changed}
    expected |= {"out/entropy", "log/loss", "batch/lr", "out/unheard_of"}
    assert expected == failures(compare(read(altered(tmp_path, "mlp_no_trust_region", alter))))


def test_another_network_fails(tmp_path: Path) -> None:
    def alter(arrays: Arrays, config: dict[str, Any]) -> None:
        config["network_kwargs"]["num_hidden"] = 63

    assert failures(compare(read(altered(tmp_path, "mlp_discrete", alter)))) == {"shapes of parameters"}
