"""Keys and signed checkpoints: C2SP's signed-note with Ed25519 (evidence.md, section 2)."""

import base64
import binascii
import hashlib
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .entries import SAFE, log_id

_KEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)\Z")
ED25519 = b"\1"


def _base64(text):
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


class Key:
    """A verifier's key, `NAME+HASH+KEY`."""

    def __init__(self, text):
        parts = _KEY.match(text)
        blob = parts and _base64(parts[3])
        if not blob or len(blob) != 33 or blob[:1] != ED25519 or not log_id(parts[1]):
            raise ValueError(f"no key: {text}")
        self.text, self.name = text, parts[1]
        self.hash = hashlib.sha256(self.name.encode() + b"\n" + blob).digest()[:4]
        if self.hash.hex() != parts[2]:
            raise ValueError(f"its hash does not fit: {text}")
        self._key = Ed25519PublicKey.from_public_bytes(blob[1:])

    def verifies(self, message, signature):
        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def follow(self, rotation):
        """The key that a rotation signed by this one names; None for any other."""
        try:
            following = Key(rotation["next"])
        except ValueError:
            return None
        signature = _base64(rotation["signature"])
        statement = f"countersign.key-rotation.v1\n{self.text}\n{following.text}\n".encode()
        sound = rotation["previous"] == self.text and signature and len(signature) == 64
        return following if sound and self.verifies(statement, signature) else None


class Note:
    """A checkpoint with its signatures: `log`, `size`, `root`."""

    def __init__(self, text):
        head, found, signatures = text.rpartition("\n\n")
        if not found or not signatures.endswith("\n") or len(text.encode()) > 16_384:
            raise ValueError("no signed note")
        if any(ord(char) < 32 and char != "\n" or 127 <= ord(char) < 160 for char in text):
            raise ValueError("a control character")
        self.signed = (head + "\n").encode()
        self.signatures = [self._signature(line) for line in signatures[:-1].split("\n")]
        if len(self.signatures) > 64:
            raise ValueError("too many signatures")
        body = head.split("\n")
        if len(body) < 3 or not log_id(body[0]) or any(not line for line in body[3:]):
            raise ValueError("no checkpoint")
        if not re.fullmatch(r"0|[1-9][0-9]{0,15}", body[1], re.ASCII) or int(body[1]) > SAFE:
            raise ValueError("no size")
        self.log, self.size, self.root = body[0], int(body[1]), _base64(body[2])
        if self.root is None or len(self.root) != 32:
            raise ValueError("no root")

    @staticmethod
    def _signature(line):
        parts = line.split(" ")
        if len(parts) != 3 or parts[0] != "\u2014" or not parts[1] or "+" in parts[1]:
            raise ValueError("no signature")
        blob = _base64(parts[2])
        if not blob or len(blob) < 5:
            raise ValueError("no signature")
        return parts[1], blob[:4], blob[4:]

    def signed_by(self, key):
        return key.name == self.log and any(
            name == key.name and hash_ == key.hash and len(signature) == 64
            and key.verifies(self.signed, signature)
            for name, hash_, signature in self.signatures
        )
