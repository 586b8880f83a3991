import pytest

from acer_tf import run, run_atari
from acer_tf.cli.env_kwargs import env_kwargs
from acer_tf.errors import InputError
from acer_tf.trials.flags import IN_FILES, check_flags, words

NEVER = {"env", "preset", "seed", "logdir", "load_path", "restart_behavior", "force", "ray_address", "track"}


def test_files_set_no_paths_addresses_services_or_environments() -> None:
    known = {*run.PARSER.names, *run_atari.PARSER.names}
    assert known >= NEVER and not NEVER & IN_FILES
    assert known - IN_FILES - NEVER == {
        *("checkpoint_every", "exact_resume", "keep_checkpoints", "keep_every", "stall_seconds", "tune_malloc"),
        "verbose",
    }
    for name in (*sorted(NEVER), "ray-address", "lr=1 --logdir", "--logdir", "logdir\n"):
        with pytest.raises(InputError, match="cannot be set in a file"):
            check_flags("it", ["lr", name], has_command_line=True)
    check_flags("it", ["lr", "num-env", "actors", "nlstm", "policy"], has_command_line=True)


def test_a_name_that_is_like_another_one_is_told() -> None:
    with pytest.raises(InputError, match=r"^it: gama cannot be set in a file; the nearest are gamma"):
        check_flags("it", ["gama"], has_command_line=True)
    for name in ("logdir", "checkpoint_every", "track"):
        with pytest.raises(InputError, match=rf"^it: {name} cannot be set in a file; give it on the command line\.$"):
            check_flags("it", [name], has_command_line=True)
        with pytest.raises(InputError, match=rf"^it: {name} cannot be set in a file; leave it out\.$"):
            check_flags("it", [name], has_command_line=False)
    with pytest.raises(
        InputError, match=r"^it: network_kwargs cannot be set in a file; give its entries as flags, such as num_h"
    ):
        check_flags("it", ["network_kwargs"], has_command_line=True)
    with pytest.raises(InputError, match=r"^it: xyzzy cannot be set in a file; files set hyper-parameters\.$"):
        check_flags("it", ["xyzzy"], has_command_line=True)


def test_words_are_those_of_a_command_line() -> None:
    values = {"lr": 1e-4, "trust_region": False, "max_grad_norm": None, "network": "mlp"}
    assert words(values) == ["--lr=0.0001", "--trust_region=False", "--max_grad_norm=None", "--network=mlp"]


@pytest.mark.parametrize("name", ["env_kwargs", "env-kwargs"])
def test_arguments_of_the_environment_in_a_file_name_no_file_code_or_window(name: str) -> None:
    assert words({name: {"gravity": -5.0}}) == ['--env_kwargs={"gravity": -5.0}']
    (word,) = words({name: {"map": None, "wind": [True, None]}})
    assert env_kwargs([word.partition("=")[2]]) == {"map": None, "wind": [True, None]}
    assert words({name: "gravity:-5.0"}) == ["--env_kwargs=gravity:-5.0"]
    for value in ({"xml_file": "./own.xml"}, "{xml_file: ./own.xml}", "xml_file:/own.xml", {"render_mode": "human"}):
        with pytest.raises(InputError, match=r"the file has (xml_file|render_mode)=.* among the arguments"):
            words({name: value})


def test_the_last_of_several_flags_counts() -> None:
    assert words({"a": 1, "b": False}, {"a": None}) == ["--a=None", "--b=False"]
