import http.server
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest

from acer_tf.report import main
from tests.plots.samples import write_run

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


OF_THE_BROWSER = re.compile(r"^(http://)?[\w.-]+\.(google|gvt1|googleapis)\.com\b")
"""What the browser asks for by itself, whatever page it shows."""


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Three seeds in two environments, with evaluations."""
    folders = []
    for env in ("A-v0", "B-v0"):
        for seed in range(3):
            returns = [float(seed + i % 7 + i // 10) for i in range(60)]
            run = write_run(tmp_path / f"{env}-{seed}", returns, env=env, network="mlp", seed=seed, gamma=0.99)
            (run / "evaluations.csv").write_text(f"steps,mean_return\n1000,{seed}\n6000,{seed + 5}\n")
            folders.append(str(run))
    return folders


def test_writes_a_page_and_replaces_an_earlier_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = write_run(tmp_path / "a", [1.0], env="A-v0", network="mlp"), tmp_path / "page.html"
    out.write_text("old")
    assert main([str(run), "--out", str(out)]) == 0
    assert out.read_text().startswith("<!doctype html>") and out.read_text().rstrip().endswith("</html>")
    assert capsys.readouterr().out == f"wrote {out}: 1 run\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "RUNS is missing: Run folders"),
        (["absent"], "absent is not a run"),
        (["absent", "--out", "page.pdf"], "expected page.html"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


class Counter(http.server.BaseHTTPRequestHandler):
    """A proxy that refuses every request and remembers it."""

    asked: list[str]

    def do_GET(self) -> None:
        if not OF_THE_BROWSER.search(self.path):
            self.asked.append(self.path)
        self.send_error(403)

    def do_CONNECT(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """Address of a proxy, and the addresses it was asked for."""
    asked: list[str] = []
    handler = type("Handler", (Counter,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def browse(page: Path, proxy: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Opens a page in a browser without a window; its console goes to standard error."""
    profile = page.with_name("profile")
    quiet = ("--disable-gpu", "--disable-component-update", "--disable-background-networking", "--no-first-run")
    return subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", *quiet, "--hide-scrollbars", "--enable-logging=stderr"),
            *(f"--user-data-dir={profile}", f"--proxy-server={proxy}", *arguments, page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
@pytest.mark.timeout(400)
def test_a_browser_shows_the_page_and_loads_nothing(
    tmp_path: Path, runs: list[str], proxy: tuple[str, list[str]]
) -> None:
    address, asked = proxy
    out = tmp_path / "page.html"
    assert main([*runs, "--out", str(out)]) == 0
    for width in (1200, 480):
        picture = tmp_path / f"{width}.png"
        found = browse(out, address, f"--window-size={width},1600", f"--screenshot={picture}")
        assert "CONSOLE" not in found.stderr
        pixels = cv2.imread(str(picture))
        assert pixels.shape == (1600, width, 3)
        blue = (abs(pixels.astype(int) - (0xB2, 0x72, 0x00)) < 30).all(axis=-1)  # the first curve's, as BGR
        assert blue.sum() > 300
    dom = browse(out, address, "--dump-dom").stdout
    assert "Final scores" in dom and dom.count("<picture>") == 4
    assert asked == []
    loading = out.with_name("loading.html")
    loading.write_text('<script>console.error("seen")</script><img src="http://pictures.invalid/a.png">')
    assert "CONSOLE" in browse(loading, address, "--dump-dom").stderr
    assert asked == ["http://pictures.invalid/a.png"]  # what was absent above would have been seen
