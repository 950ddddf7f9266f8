"""Files of the package, and files of runs."""

from __future__ import annotations

import io
import os
import posixpath
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from . import _native


def executable(name: str, variable: str) -> Path:
    """A file of this version: named by the environment, in this package, or on PATH."""
    named = os.environ.get(variable)
    if named:
        return Path(named)
    packed = Path(__file__).with_name("_bin") / name
    if packed.exists():
        return packed
    found = shutil.which(name)
    if found is None:
        raise _native.SandboxError(f"{packed} does not exist; install the package again")
    return Path(found)


def whole(path: str, directory: str) -> str:
    """The normal form of a path that may be relative to a directory of the sandbox."""
    return posixpath.normpath(posixpath.join(directory, path))


def archive(files: Mapping[str, bytes], directory: str) -> bytes:
    """A tar archive of these files, whose paths are relative to a directory of the sandbox."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in files.items():
            parts = posixpath.join(directory, path).split("/")
            if path.endswith("/") or not path or ".." in parts or "\0" in path:
                raise ValueError(f"{path!r} is not the path of a file in the sandbox")
            member = tarfile.TarInfo(whole(path, directory).lstrip("/"))
            member.size = len(content)
            # Programs may also execute their files.
            member.mode = 0o755
            tar.addfile(member, io.BytesIO(content))
    return data.getvalue()
