# Trains on the CPU:
#   docker build --tag acer_tf . && docker run --rm --volume acer-runs:/home/acer/runs acer_tf
# Another command takes the place of the last line's: docker run --rm acer_tf acer --help
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 acer
WORKDIR /home/acer/acer_tf
COPY LICENSE README.md requirements.txt setup.py pyproject.toml ./
COPY acer_tf acer_tf
RUN pip install --no-cache-dir .

USER acer
WORKDIR /home/acer
RUN mkdir runs
CMD ["python", "-m", "acer_tf.run_atari", "--env", "BreakoutNoFrameskip-v4"]
