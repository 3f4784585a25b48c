"""Servers on this machine that a benchmark's browser opens."""

import contextlib
import functools
import http.server
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300
"""Seconds after which something must be broken."""


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def streamlit(script: str, port: int) -> Iterator[subprocess.Popen]:
    """Run a script of the project, which does not have to answer yet."""
    command = [sys.executable, "-m", "streamlit", "run", script]
    options = ["--server.port", str(port), "--server.headless", "true"]
    server = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def ready_streamlit(script: str) -> Iterator[str]:
    """Run a script of the project and wait until the server answers; gives its address.

    Raises:
        OSError: it ends, or does not answer in time.
    """
    port = free_port()
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
    with streamlit(script, port) as server:
        while True:
            try:
                urllib.request.urlopen(f"{address}/_stcore/health").close()
                break
            except urllib.error.URLError:
                if server.poll() is not None:
                    raise OSError("streamlit ended early; the reason stands above") from None
                if time.monotonic() > deadline:
                    raise OSError(f"streamlit did not answer within {PATIENCE} s") from None
                time.sleep(0.05)
        yield address


@contextlib.contextmanager
def files(folder: Path) -> Iterator[str]:
    """Serve the files of a folder; gives their address."""
    handler = functools.partial(_QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""
