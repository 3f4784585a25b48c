"""Models of the hub: a small server on this machine speaks as much of the hub's language as downloads need."""

import hashlib
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import huggingface_hub
import pytest

from transformer_core import zoo
from transformer_core.zoo.hugging_face.opening import hub as hub_module
from transformer_core.zoo.hugging_face.opening.hub import download, split_name, wanted
from transformer_core.zoo.interface import InputError

COMMIT = "c" * 40


class Hub(ThreadingHTTPServer):
    """Serves one repository, "owner/name", whose files are those of a folder."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.downloaded: list[str] = []
        self.error: tuple[int, str] | None = None
        """A status and the hub's code for it, in place of every answer."""
        self.before_an_answer: Callable[[], object] = lambda: None
        self.before_a_file: Callable[[], None] = lambda: None

    @property
    def files(self) -> dict[str, bytes]:
        paths = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in paths}

    def handle_error(self, *client: object) -> None:
        """Whoever stops a download hangs up, perhaps in the middle of an answer. Other errors are shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*client)


class Answer(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.before_an_answer()
        path = unquote(urlparse(self.path).path)
        if self.server.error is not None:
            status, code = self.server.error
            return self.send(b"{}", status, {"X-Error-Code": code, "X-Error-Message": code})
        if path.startswith("/api/models/owner/name/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in self.server.files.items()
            ]
            return self.send(json.dumps(tree).encode())
        if path in ("/api/models/owner/name", "/api/models/owner/name/revision/main"):
            siblings = [{"rfilename": name, "size": len(data)} for name, data in self.server.files.items()]
            info = {"id": "owner/name", "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}
            return self.send(json.dumps(info).encode())
        if path.startswith("/api/models/owner/name/revision/"):
            return self.send(b"{}", 404, {"X-Error-Code": "RevisionNotFound"})
        name = path.removeprefix(f"/owner/name/resolve/{COMMIT}/")
        if name not in self.server.files:
            return self.send(b"{}", 404, {"X-Error-Code": "RepoNotFound"})
        data = self.server.files[name]
        if self.command == "GET":
            self.server.before_a_file()
            self.server.downloaded.append(name)
        return self.send(data, 200, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT})

    def send(self, data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    return folder


@pytest.fixture
def hub(tiny_checkpoints, tmp_path, cache, monkeypatch) -> Iterator[Hub]:
    folder = tmp_path / "repository"
    shutil.copytree(tiny_checkpoints["masked"], folder)
    server = Hub(folder)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(huggingface_hub.file_download, "HUGGINGFACE_CO_URL_TEMPLATE", address, raising=False)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def no_hub(cache, monkeypatch) -> None:
    """An address at which nobody answers."""
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")


def test_a_model_of_the_hub_is_downloaded_and_opened_as_its_folder_is(hub, tiny_checkpoints):
    model = zoo.load("owner/name", device="cpu")
    folder = zoo.load(str(tiny_checkpoints["masked"]), device="cpu")
    assert (model.name, model.architecture, model.weights_hash) == (
        "owner/name",
        "BertForMaskedLM",
        folder.weights_hash,
    )
    assert sorted(hub.downloaded) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


def test_only_what_opens_a_model_is_downloaded(hub):
    for name in (
        "pytorch_model.bin",
        "model.pt",
        "training_args.bin",
        "modeling_own.py",
        "onnx/model.onnx",
        "onnx/config.json",
        "original/consolidated.00.pth",
        "consolidated.safetensors",
        "model.fp16.safetensors",
        "README.md",
        ".gitattributes",
        "1_Pooling/config.json",
        "tokenizer.model",
    ):
        (hub.folder / name).parent.mkdir(exist_ok=True)
        (hub.folder / name).write_bytes(name.encode())
    download("owner/name")
    assert sorted(hub.downloaded) == [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
    ]


def test_weights_in_several_files_are_wanted_only_without_the_single_one():
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = "model.safetensors.index.json"
    assert wanted([*shards, index]) == [index, *shards]
    assert wanted([*shards, index, "model.safetensors"]) == [index, "model.safetensors"]


def test_what_is_in_the_cache_is_not_downloaded_again(hub):
    first = download("owner/name")
    hub.downloaded.clear()
    assert download("owner/name") == first
    assert hub.downloaded == []
    assert first.name == COMMIT


def test_without_a_network_the_cache_is_enough(hub, monkeypatch):
    download("owner/name")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    assert zoo.load("owner/name", device="cpu").architecture == "BertForMaskedLM"
    assert zoo.load("owner/name@main", device="cpu").architecture == "BertForMaskedLM"
    assert zoo.load(f"owner/name@{COMMIT}", device="cpu").architecture == "BertForMaskedLM"


def test_a_hub_that_is_down_does_not_matter_to_what_is_in_the_cache(hub):
    first = download("owner/name")
    hub.error = (503, "")
    assert download("owner/name") == first


def test_a_hub_that_never_answers_is_not_waited_for(hub, monkeypatch):
    folder = download("owner/name")
    over = threading.Event()
    hub.before_an_answer = lambda: over.wait(3)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_ETAG_TIMEOUT", 0.1)
    assert download("owner/name") == folder
    with pytest.raises(OSError, match=r"cannot be reached \(ReadTimeout\), and owner/name@other is not in the cache"):
        download("owner/name@other")
    over.set()


def test_offline_mode_is_no_network(hub, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="cannot be reached"):
        download("owner/name")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    first = download("owner/name")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert download("owner/name") == first
    assert zoo.load("owner/name", device="cpu").architecture == "BertForMaskedLM"


def test_a_cache_that_transformers_filled(no_hub, cache, tiny_checkpoints):
    """Laid out as huggingface_hub does, but without its list of the repository's files."""
    repository = cache / "models--owner--name"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "blobs").mkdir()
    (repository / "snapshots" / COMMIT).mkdir(parents=True)
    for file in tiny_checkpoints["masked"].iterdir():
        blob = repository / "blobs" / hashlib.sha1(file.read_bytes()).hexdigest()
        shutil.copy(file, blob)
        (repository / "snapshots" / COMMIT / file.name).symlink_to(Path("../../blobs") / blob.name)
    assert zoo.load("owner/name", device="cpu").architecture == "BertForMaskedLM"
    (repository / "snapshots" / COMMIT / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"There is no model\.safetensors in owner/name"):
        zoo.load("owner/name", device="cpu")


def test_no_network_and_no_cache_say_what_to_do(no_hub):
    with pytest.raises(OSError, match=r"cannot be reached \(ConnectError\).*Connect to the internet.*hf download"):
        zoo.load("owner/name")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ((401, "GatedRepo"), InputError, r"owner/name is gated.*Ask for access on .*`hf auth login`"),
        ((403, "GatedRepo"), InputError, "is gated"),
        ((404, "RepoNotFound"), InputError, "no model owner/name on the Hugging Face hub, or it is private"),
        ((401, ""), OSError, "answered with error 401.*Log in on this machine with `hf auth login`"),
        ((403, "Access to this resource is disabled."), InputError, "has been taken off the Hugging Face hub"),
        ((500, ""), OSError, "answered with error 500.*Try again later"),
        ((429, ""), OSError, "answered with error 429.*Wait a few minutes"),
    ],
)
def test_what_the_hub_refuses_is_said_in_words(hub, monkeypatch, error, kind, message):
    hub.error = error
    with pytest.raises(kind, match=message):
        download("owner/name")


def test_names_and_revisions_that_are_not_there(hub):
    with pytest.raises(InputError, match="There is no model owner/other on the Hugging Face hub"):
        download("owner/other")
    with pytest.raises(InputError, match="owner/name has no revision 'v9'"):
        download("owner/name@v9")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["pytorch_model.bin"], "pickles, which can run any program.*owner/name@refs/pr/NUMBER"),
        (["adapter_config.json", "adapter_model.safetensors"], r"an adapter \(LoRA\)"),
        (["model.gguf"], "whose page lists safetensors"),
    ],
)
def test_no_safetensors(hub, files, message):
    (hub.folder / "model.safetensors").unlink()
    for file in files:
        (hub.folder / file).write_bytes(b"{}")
    with pytest.raises(ValueError, match=message):
        download("owner/name")
    assert hub.downloaded == [], "known before anything is downloaded"


@pytest.mark.parametrize(
    "name",
    ["own--er/name", "owner/", "owner/na me", "-a/b", "a..b", "owner/name.git", "a/b@", "a/b@../c", "a/b@-x", "ä/b"],
)
def test_names_that_no_model_has(name):
    with pytest.raises(InputError):
        split_name(name)


def test_names_and_revisions():
    assert split_name("gpt2") == ("gpt2", None)
    assert split_name("owner/name@refs/pr/3") == ("owner/name", "refs/pr/3")


class TestProgress:
    def test_is_told_in_the_callers_thread(self, hub):
        size = sum(len(hub.files[name]) for name in wanted(list(hub.files)))
        told, threads = [], set()

        def progress(file: str, done: int, total: int) -> None:
            told.append((file, done, total))
            threads.add(threading.current_thread())

        download("owner/name", progress)
        assert told[0] == ("", 0, size)
        assert told[-1] == ("", size, size)
        assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
        assert threads == {threading.current_thread()}

    def test_of_what_is_still_missing(self, hub, cache):
        download("owner/name")
        told = []
        download("owner/name", lambda *report: told.append(report))
        assert told == []
        (cache / "models--owner--name" / "snapshots" / COMMIT / "config.json").unlink()
        download("owner/name", lambda *report: told.append(report))
        assert told[0] == ("", 0, len(hub.files["config.json"]))

    def test_goes_to_nobodys_terminal(self, hub, capfd):
        download("owner/name", lambda *report: None)
        assert capfd.readouterr() == ("", "")

    def test_what_it_raises_ends_the_download(self, hub, cache):
        class Stop(Exception):
            pass

        go_on = threading.Event()
        hub.before_a_file = lambda: go_on.wait(10)
        reports = []

        def progress(*report: object) -> None:
            reports.append(report)
            if len(reports) == 3:
                raise Stop

        with pytest.raises(Stop):
            download("owner/name", progress)
        go_on.set()
        for thread in threading.enumerate():
            if thread.name == "download of owner/name":
                thread.join()
        assert not list(cache.rglob("*.safetensors")), "what came later was not kept"
        hub.before_a_file = lambda: None
        assert (download("owner/name") / "model.safetensors").exists(), "and it can be tried again"

    def test_failures_in_the_other_thread_are_raised_here(self, hub, monkeypatch):
        def fail(*arguments: object, **options: object) -> None:
            raise ConnectionResetError

        monkeypatch.setattr(hub_module, "snapshot_download", fail)
        with pytest.raises(OSError, match=r"cannot be reached \(ConnectionResetError\)"):
            download("owner/name", lambda *report: None)


class TestDisk:
    def test_is_measured_before(self, hub, monkeypatch):
        usage = shutil.disk_usage("/")._replace(free=10)
        monkeypatch.setattr(hub_module.shutil, "disk_usage", lambda path: usage)
        with pytest.raises(OSError, match=r"owner/name needs 0\.0 GB, and the disk has 0\.0 GB free"):
            download("owner/name")
        assert hub.downloaded == []

    @pytest.mark.parametrize("progress", [None, lambda *report: None])
    def test_may_fill_up_on_the_way(self, hub, monkeypatch, progress):
        def full(*arguments: object, **options: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(hub_module, "snapshot_download", full)
        with pytest.raises(OSError, match="The disk is full: owner/name could not be downloaded"):
            download("owner/name", progress)
