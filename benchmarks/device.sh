#!/bin/sh
# Measures this machine in about ten minutes and writes device/device.json and device/device.md.
#
#   benchmarks/device.sh                                   everything
#   benchmarks/device.sh --minutes 2 --num_envs 4 --seconds 2   to try it
#
# Takes the flags of `python -m benchmarks.device`. PYTHON names an interpreter that has the package; without one that
# has it, a virtual environment is made in device/venv, with CUDA's libraries where there is an NVIDIA GPU.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if ! "$python" -c "import acer_tf, tensorflow" 2>/dev/null; then
    "$python" -m venv device/venv
    python=device/venv/bin/python
    extra=""
    if command -v nvidia-smi >/dev/null; then extra="[gpu]"; fi
    "$python" -m pip install --quiet -e ".$extra"
fi
exec "$python" -m benchmarks.device "$@"
