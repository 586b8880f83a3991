import keras
import numpy as np
import pytest
from gymnasium.spaces import Box
from numpy.random import RandomState

from acer_tf.envs.wrappers.normalize import CLIP
from acer_tf.errors import InputError
from acer_tf.networks.registry import NetworkFn, check_pixels, network_fn, register
from acer_tf.networks.trunk import Trunk
from acer_tf.packing import Packed


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    @register("twice_as")
    def build(rng: np.random.RandomState, factor: float = 2.0) -> NetworkFn:
        return lambda inputs: inputs * factor


def test_a_registered_network_is_found_with_its_arguments() -> None:
    x = keras.ops.ones((1, 3))
    assert np.all(network_fn("twice_as", RandomState(0), {})(x) == 2)
    assert np.all(network_fn("twice_as", RandomState(0), {"factor": 5.0})(x) == 5)


def test_a_function_is_taken_as_it_is() -> None:
    def torso(inputs: keras.KerasTensor) -> keras.KerasTensor:
        return inputs

    assert network_fn(torso, RandomState(0), {}) is torso
    with pytest.raises(InputError, match=r"\['num_hidden'\] belong to no network: the network is a function"):
        network_fn(torso, RandomState(0), {"num_hidden": 3})


def test_a_name_is_given_once() -> None:
    with pytest.raises(InputError, match="'mlp' is registered already"):
        register("mlp")(lambda rng: lambda inputs: inputs)


def test_a_function_that_is_defined_again_takes_the_place_of_the_old_one() -> None:
    def cell(units: int) -> None:
        @register("of_a_cell", sees_pixels=units == 3)
        def of_a_cell(rng: RandomState) -> NetworkFn:
            return lambda inputs: keras.layers.Dense(units)(inputs)

    cell(3)
    cell(5)
    network = network_fn("of_a_cell", RandomState(0), {})
    assert callable(network) and network(keras.Input((2,))).shape == (None, 5)
    check_pixels("of_a_cell", Box(0, 1, (2,)))  # is not for images any more
    register("lambda")(lambda rng: lambda inputs: inputs)
    with pytest.raises(InputError, match="'lambda' is registered already"):
        register("lambda")(lambda rng: lambda inputs: inputs)


@pytest.mark.parametrize(
    ("network", "message"),
    [("cn", "'cn' does not exist; the nearest are cnn"), ("MPL", "nearest are mlp"), (None, "'None' does not exist")],
)
def test_unknown_names_come_with_the_nearest(network: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        network_fn(network, RandomState(0), {})


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("mlp", "'mlp' does not take the argument num_hiden; the nearest are num_hidden"),
        ("cnn", "'cnn' does not take the argument num_hiden; it takes none"),
        ("conv_only", "'conv_only' does not take the argument num_hiden; expected convs"),
    ],
)
def test_arguments_it_does_not_take(network: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        network_fn(network, RandomState(0), {"num_hiden": 3})


def test_arguments_that_cannot_work() -> None:
    def broken(image: keras.KerasTensor) -> keras.KerasTensor:
        return keras.layers.Conv2D(-1, 3)(keras.ops.cast(image, "float32"))

    images = Box(0, 255, (36, 36, 1), np.uint8)
    with pytest.raises(
        InputError, match=r"cannot be built for .* shape .36, 36, 1. and type uint8: .*filters=-1"
    ) as error:
        Trunk(broken, images, RandomState(0))
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"^depths is \[-1\]; expected whole numbers >= 1, such as \[16, 32\]\.$"):
        Trunk("impala_cnn", images, RandomState(0), depths=[-1])
    with pytest.raises(InputError, match=r"^the activation 'thanh' does not exist; the nearest are tanh, "):
        Trunk("mlp", Box(-1, 1, (4,)), RandomState(0), activation="thanh")


@pytest.mark.parametrize("network", ["cnn", "cnn_small", "cnn_lstm", "CnnPolicy"])
def test_images_too_small_for_a_network_come_with_a_smaller_one(network: str) -> None:
    for space in (Box(0, 255, (7, 7, 3), np.uint8), Packed({"image": Box(0, 255, (7, 7, 3), np.uint8)})):
        message = r"of shape \(7, 7, 3\) and type uint8: the images are too small .* choose smaller .* cnn_minatar\.$"
        with pytest.raises(InputError, match=message):
            Trunk(network, space, RandomState(0))
    Trunk("cnn_minatar", space, RandomState(0))


@pytest.mark.parametrize("network", ["cnn", "impala_cnn", "CnnLstmPolicy"])
def test_images_whose_channels_come_first_are_refused(network: str) -> None:
    for space in (Box(0, 255, (3, 84, 84), np.uint8), Packed({"image": Box(0, 255, (3, 84, 84), np.uint8)})):
        with pytest.raises(InputError, match=r"have shape \(3, 84, 84\), in which channels come first; move them to"):
            Trunk(network, space, RandomState(0))
    with pytest.raises(InputError, match="in which channels come first"):
        Trunk("MultiInputPolicy", space, RandomState(0), cnn_extractor="impala_cnn")


@pytest.mark.parametrize("network", ["mlp", "lstm", "MlpPolicy"])
def test_networks_that_divide_nothing_take_any_pictures(network: str) -> None:
    Trunk(network, Packed({"grid": Box(0, 1, (3, 8, 8), np.uint8)}), RandomState(0))


@pytest.mark.parametrize("network", ["cnn", "CnnPolicy"])
def test_normalised_pictures_are_refused(network: str) -> None:
    message = f"'{network}' divides observations by 255, but these lie between -10 and 10; .* leave normalize_obs"
    with pytest.raises(InputError, match=message):
        Trunk(network, Box(-CLIP, CLIP, (84, 84, 1), np.float32), RandomState(0))


@pytest.mark.parametrize("network", ["cnn", "impala_cnn", "cnn_lstm", "CnnPolicy", "CnnLnLstmPolicy"])
def test_networks_for_images_get_images_that_they_can_see(network: str) -> None:
    with pytest.raises(InputError, match=f"'{network}' divides observations by 255, but these lie between -1 and 1; "):
        Trunk(network, Box(-1, 1, (84, 84, 1), np.float32), RandomState(0))
    with pytest.raises(InputError, match=rf"'{network}' is for images .*, but observations have shape \(4,\); "):
        Trunk(network, Box(-1, 1, (4,), np.float32), RandomState(0))
    Trunk(network, Box(0, 255, (84, 84, 1), np.float32), RandomState(0))
    Trunk("mlp", Box(-1, 1, (84, 84, 1), np.float32), RandomState(0))


def test_a_network_of_ones_own_that_cannot_be_built() -> None:
    message = r"the network cannot be built for observations of shape \(84, 84, 1\) and type uint8: .{1,300}\.$"
    with pytest.raises(InputError, match=message):
        Trunk(lambda images: keras.layers.Conv2D(4, 3)(images), Box(0, 255, (84, 84, 1), np.uint8), RandomState(0))
