"""Keys, tokens and the sealing of external ids.

One key per study, from the environment or from a file that only its owner can read. What is derived from it:
the seal of external ids, the researcher's session, and the protection of forms.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from giveway.core.errors import ConfigError, MissingDependencyError

try:
    from cryptography.fernet import Fernet, InvalidToken
except ImportError as error:  # pragma: no cover - exercised in an environment without the extra
    raise MissingDependencyError("cryptography", extra="study", purpose="sealing external ids") from error

KEY_FILE = "secret.key"
KEY_VARIABLE = "GIVEWAY_STUDY_KEY"
MIN_KEY_BYTES = 32
SYSTEM_HAS_MODES = os.name == "posix"
"""Windows reports mode 0666 for every file; there the folder's access list, inherited from the user's own, decides."""

CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # without characters that look alike


@dataclass(frozen=True, slots=True)
class StudyKey:
    """The root key of a study; ``repr`` does not show it."""

    _root: bytes

    def __repr__(self) -> str:
        return "StudyKey(...)"

    def derive(self, purpose: str) -> bytes:
        """32 bytes for one purpose only."""
        return hmac.new(self._root, purpose.encode(), hashlib.sha256).digest()

    def sign(self, purpose: str, message: str) -> str:
        """A short code that only this key can make."""
        digest = hmac.new(self.derive(purpose), message.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest[:24]).decode()

    def seal(self, text: str) -> bytes:
        """Encrypt and authenticate (AES-128-CBC with HMAC-SHA256, "Fernet")."""
        return self._fernet().encrypt(text.encode())

    def unseal(self, sealed: bytes, *, max_age_s: int | None = None) -> str | None:
        """The text, or None if it was made with another key, altered, or is too old."""
        try:
            return self._fernet().decrypt(sealed, ttl=max_age_s).decode()
        except (InvalidToken, UnicodeDecodeError):
            return None

    def _fernet(self) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(self.derive("external ids")))


def load_key(folder: Path) -> StudyKey:
    """The key from ``GIVEWAY_STUDY_KEY`` or from ``secret.key``, which is made on first use (mode 0600).

    Raises:
        ConfigError: if the key is too short or others can read its file.
    """
    given = os.environ.get(KEY_VARIABLE)
    if given is not None:
        if len(given.encode()) < MIN_KEY_BYTES:
            raise ConfigError(
                "the study key is too short",
                where=f"environment variable {KEY_VARIABLE}",
                found=f"{len(given.encode())} bytes",
                hint=f"give at least {MIN_KEY_BYTES} random bytes",
            )
        return StudyKey(given.encode())
    path = folder / KEY_FILE
    if not path.exists():
        _write_key(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077 and SYSTEM_HAS_MODES:
        raise ConfigError(
            "others can read the study key", where=path, found=f"mode {mode:04o}", hint=f"chmod 600 {path}"
        )
    root = path.read_bytes().strip()
    if len(root) < MIN_KEY_BYTES:
        raise ConfigError("the study key is damaged", where=path, found=f"{len(root)} bytes")
    return StudyKey(root)


def _write_key(path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_urlsafe(48).encode())
        stream.flush()
        os.fsync(stream.fileno())
    try:
        os.link(temporary, path)  # unlike a rename, fails if another process was faster
    except FileExistsError:
        pass
    finally:
        temporary.unlink()


def new_token() -> str:
    """An opaque token of 256 random bits."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is stored instead of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_code(length: int) -> str:
    """A random code for people to read and type."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(length))


def same(left: str, right: str) -> bool:
    """Compare without telling by the time it takes where two texts differ."""
    return hmac.compare_digest(left.encode(), right.encode())
