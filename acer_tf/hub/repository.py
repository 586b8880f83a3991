"""Where published agents are kept: a repository of the Hugging Face Hub, or a local folder of the same files."""

import shutil
from pathlib import Path
from typing import Protocol

from acer_tf.errors import InputError


class Repository(Protocol):
    """A place to which files are sent and from which they are taken."""

    @property
    def name(self) -> str:
        """The last part of its address."""
        ...

    def send(self, folder: Path) -> str:
        """Sends all files of a folder; returns where they are now.

        Raises:
            InputError: that failed.
        """
        ...

    def take(self, file: str, largest: int) -> Path:
        """Returns a local copy of a file, which must not be changed.

        Args:
            file: its name.
            largest: size in bytes beyond which it is refused, before it is read.

        Raises:
            InputError: there is no such file, it is too large, or it cannot be reached.
        """
        ...


def repository(address: str, revision: str | None = None) -> Repository:
    """Returns the repository at an address.

    Args:
        address: `OWNER/NAME` on the Hub; a local folder if it exists, or begins with `.`, `/` or `~`.
        revision: commit, branch or tag on the Hub; None is the newest.

    Raises:
        InputError: it is no address, a revision of a folder is asked for, or huggingface_hub is not installed.
    """
    if not (address.startswith((".", "/", "~")) or Path(address).is_dir()):
        if address.count("/") != 1:
            raise InputError(f"{address} is neither a folder nor a repository OWNER/NAME; a folder may begin with ./")
        return HubRepository(address, revision)
    if revision is not None:
        raise InputError(f"{address} is a folder, which has no revisions; leave --revision out.")
    return FolderRepository(Path(address).expanduser())


def require_hub() -> None:
    """Checks that huggingface_hub is installed.

    Raises:
        InputError: it is not.
    """
    try:
        import huggingface_hub  # noqa: F401
    except ImportError as error:
        raise InputError("this needs huggingface_hub; install it with: pip install -e '.[hub]'.") from error


class FolderRepository:
    """A local folder."""

    def __init__(self, folder: Path) -> None:
        """Makes a repository of a folder that exists or will be created."""
        self._folder = folder
        self.name = folder.resolve().name

    def send(self, folder: Path) -> str:
        """Copies the files; see `Repository`."""
        try:
            shutil.copytree(folder, self._folder, dirs_exist_ok=True)
        except OSError as error:
            raise InputError(f"{self._folder} cannot be written ({error}); choose another folder.") from error
        return str(self._folder)

    def take(self, file: str, largest: int) -> Path:
        """Returns the file itself; see `Repository`."""
        path = self._folder / file
        if not path.is_file():
            raise InputError(f"{self._folder} holds no {file}; expected a folder that `acer publish` wrote.")
        _check_size(str(path), path.stat().st_size, largest)
        return path


class HubRepository:
    """A model repository of the Hugging Face Hub."""

    def __init__(self, repo_id: str, revision: str | None) -> None:
        """Names a repository; see `repository`.

        Raises:
            InputError: huggingface_hub is not installed.
        """
        require_hub()
        self._repo_id = repo_id
        self._revision = revision
        self.name = repo_id.rpartition("/")[2]

    def send(self, folder: Path) -> str:
        """Uploads the files in one commit; see `Repository`."""
        from huggingface_hub import HfApi

        try:
            api = HfApi()
            api.create_repo(self._repo_id, exist_ok=True)
            commit = api.upload_folder(repo_id=self._repo_id, folder_path=folder, commit_message="Agent of acer_tf")
        except _hub_errors() as error:
            raise InputError(f"{self._repo_id} cannot be published ({_first_line(error)}).") from error
        return str(commit.commit_url)

    def take(self, file: str, largest: int) -> Path:
        """Downloads the file, or finds it in the Hub's cache if HF_HUB_OFFLINE is set; see `Repository`.

        All files are of the commit that the first one was of.
        """
        from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url

        where = f"{file} of {self._repo_id}"
        try:
            if not constants.HF_HUB_OFFLINE:
                found = get_hf_file_metadata(hf_hub_url(self._repo_id, file, revision=self._revision))
                _check_size(where, found.size or 0, largest)
                self._revision = found.commit_hash or self._revision
            path = Path(hf_hub_download(self._repo_id, file, revision=self._revision))
        except InputError:
            raise
        except _hub_errors() as error:
            raise InputError(f"{where} cannot be fetched ({_first_line(error)}).") from error
        _check_size(where, path.stat().st_size, largest)
        return path


def _hub_errors() -> tuple[type[Exception], ...]:
    """Returns what calls of the Hub raise, the errors of the HTTP library that it uses included."""
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    return (*HfHubHTTPError.__bases__, OfflineModeIsEnabled, ValueError, OSError)


def _check_size(where: str, size: int, largest: int) -> None:
    if size > largest:
        raise InputError(f"{where} has {size:,} bytes; expected at most {largest:,}.")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
