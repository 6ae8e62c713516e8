"""The JIT cache: compiled kernels on disk.

Each kernel has a file for each signature and processor it was compiled for, in a folder whose name changes
with the source of any kernel, the build of Python, and the versions of numba and llvmlite. Files are written
atomically. Their content is checked before use, but it is code: only folders of the user or the administrator
are read.

Folders, the first in which something is found or can be written:

``FOREGONE_CACHE_DIR``   if this environment variable is set
``NUMBA_CACHE_DIR``      the same
beside the kernels       in the ``__pycache__`` of the package: where an installation can be written to
the user's cache folder  such as ``~/.cache/foregone``

Reading needs no permission to write, and does not ask who wrote the file: a container image is warmed by one
user and run by another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite.binding import address_of_symbol
from numba.core import compiler, serialize
from numba.core.runtime.nrt import rtsys

dumps: Any = serialize.dumps
rebuild: Any = compiler.CompileResult._rebuild

__all__ = ["CACHE_VARIABLE", "KeptCode", "folders", "is_writable", "kept_in", "n_kept", "use_only"]

CACHE_VARIABLE = "FOREGONE_CACHE_DIR"
BESIDE = Path(__file__).parent / "__pycache__"
SUFFIX = ".code"
DIGEST_SIZE = hashlib.sha256().digest_size


class Processor(NamedTuple):
    """The processor that code was compiled for, in numba's terms; features are those present and absent."""

    triple: str
    name: str
    features: str

    def can_run(self, other: Processor) -> bool:
        """Whether it can run code compiled for another processor."""
        if self == other:
            return True
        if self.triple != other.triple or (not other.features and other.name != "generic"):
            return False
        return _present(other.features) <= _present(self.features)


class Content(NamedTuple):
    """The content of a file: its processor, the external symbols it needs, and the code."""

    processor: tuple[str, ...]
    symbols: list[str]
    code: bytes


def _present(features: str) -> set[str]:
    return {feature for feature in features.split(",") if feature.startswith("+")}


_only: list[Path] = []


def use_only(folder: Path) -> None:
    """Use only this folder for compiled code from now on."""
    _only[:] = [folder]


def folders() -> list[Path]:
    """Return the folders that may hold compiled code of any version, in the order in which they are tried."""
    if _only:
        return _only
    named = [os.environ.get(CACHE_VARIABLE), os.environ.get("NUMBA_CACHE_DIR")]
    found = [Path(name) for name in named if name]
    found.append(BESIDE)
    with contextlib.suppress(RuntimeError):  # without a home
        found.append(_users_folder())
    return list(dict.fromkeys(found))


def _users_folder() -> Path:
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "foregone" / "cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "foregone"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foregone"


@cache
def version() -> str:
    """Return the name of the folder for compiled code of these kernels."""
    # The suffix names the build of Python: without the GIL, objects have another layout.
    builds = (EXTENSION_SUFFIXES[0], numba.__version__, llvmlite.__version__)
    digest = hashlib.sha256(repr(builds).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return f"foregone-{digest.hexdigest()[:16]}"


def kept_in() -> Path | None:
    """Return the first folder that holds code of these kernels, or else the first writable one."""
    for folder in folders():
        if any((folder / version()).glob(f"*{SUFFIX}")):
            return folder / version()
    return next((folder / version() for folder in folders() if is_writable(folder)), None)


def is_writable(folder: Path) -> bool:
    """Whether a file could be written to a folder, which may have to be created first."""
    nearest = _nearest(folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def n_kept() -> int:
    """Return how many kernels are in the cache, in any folder, for any signature."""
    files = [file for folder in folders() for file in (folder / version()).glob(f"*{SUFFIX}")]
    return len({file.name.rsplit("-", 2)[0] for file in files})


def _nearest(folder: Path) -> Path:
    """Return the folder, or what it would be made in."""
    return folder if os.path.lexists(folder) or folder == folder.parent else _nearest(folder.parent)


class KeptCode:
    """The compiled code of one kernel on disk; implements numba's interface of a dispatcher's cache.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    on_problem : callable
        Called with the reason if code cannot be written.
    """

    def __init__(self, kernel: str, on_problem: Any) -> None:
        self.kernel = kernel
        self._on_problem = on_problem

    @property
    def cache_path(self) -> str | None:
        """The folder, for numba's statistics."""
        folder = kept_in()
        return None if folder is None else str(folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code compiled for a signature, if it is in the cache and this processor can run it."""
        here = Processor(*target_context.codegen().magic_tuple())
        name = self._name(signature)
        for folder in folders():
            own = folder / version()
            exact = own / f"{name}-{_short(here)}{SUFFIX}"
            for file in (exact, *(other for other in own.glob(f"{name}-*{SUFFIX}") if other != exact)):
                found = _read(file, here)
                if found is not None:
                    try:
                        _get_ready(target_context, found.symbols)
                        return rebuild(target_context, *pickle.loads(found.code))  # noqa: S301  # code, as a module is
                    except Exception:  # whatever is wrong with it, it can be compiled anew
                        continue
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write compiled code to the first writable folder."""
        tried: list[str] = []
        try:
            here = Processor(*result.library.codegen.magic_tuple())
            content = dumps(tuple(Content(tuple(here), _symbols_of(result), dumps(result._reduce()))))
        except Exception as error:
            self._on_problem(str(error))
            return
        for folder in folders():
            try:
                _write(folder, f"{self._name(signature)}-{_short(here)}{SUFFIX}", content)
            except OSError as error:
                tried.append(f"{folder}: {error.strerror or error}")
            else:
                return
        self._on_problem("; ".join(tried))

    def _name(self, signature: Any) -> str:
        types = [repr(kind) for kind in getattr(signature, "args", signature)]
        return f"{self.kernel}-{hashlib.sha256(repr(types).encode()).hexdigest()[:16]}"

    def enable(self) -> None:
        """Do nothing: it is always enabled."""

    disable = flush = enable


def _short(processor: Processor) -> str:
    return hashlib.sha256(repr(tuple(processor)).encode()).hexdigest()[:8]


def _symbols_of(result: Any) -> list[str]:
    """Return the external symbols that compiled code needs."""
    module = result.library._final_module
    names = [*module.functions, *module.global_variables]
    return [part.name for part in names if part.is_declaration and not part.name.startswith("llvm.")]


def _get_ready(target_context: Any, symbols: list[str]) -> None:
    """Prepare what compiled code needs to run.

    It needs little, but numba's own initialisation loads everything it could compile, including SciPy's
    linear algebra: that is used only if a symbol would otherwise be missing.
    """
    rtsys.initialize(target_context)
    if not all(address_of_symbol(name) for name in symbols):
        target_context.refresh()


def _read(file: Path, here: Processor) -> Content | None:
    """Return the content of a file, if it is intact and this processor can run it."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    digest, content = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    if hashlib.sha256(content).digest() != digest:
        return None
    try:
        found = Content(*pickle.loads(content))  # noqa: S301  # written by this very version
        return found if here.can_run(Processor(*found.processor)) else None
    except Exception:  # as good as none
        return None


def _write(folder: Path, name: str, content: bytes) -> None:
    own = folder / version()
    if not own.is_dir():
        own.mkdir(parents=True, exist_ok=True)
        if folder == BESIDE:  # of these kernels there is one version only
            for other in folder.glob("foregone-*"):
                if other != own:
                    shutil.rmtree(other, ignore_errors=True)
    handle, path = tempfile.mkstemp(dir=own)
    temporary = Path(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        temporary.chmod(0o666 & ~_umask())  # others may run what one user compiled
        temporary.replace(own / name)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        # Windows does not replace a file while it is read: another process has compiled the same.
        if not isinstance(error, PermissionError) or not (own / name).exists():
            raise


def _umask() -> int:
    """Return the permissions that new files do not get; the umask can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
