"""The other forms of evidence: TRACE records and the community's action bindings."""

import base64
import hashlib
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from . import container
from .notes import Note

REQUIRED = {
    "appraisal", "build_provenance", "cnf", "data_class", "eat_profile", "iat", "model", "policy",
    "runtime", "signature", "subject", "tool_transcript",
}
ACTION = {"action_scope", "action_timestamp", "action_type", "agent_id", "domain", "version"}


def jcs(value):
    """RFC 8785 of what these forms hold: no number but small integers."""
    if type(value) is dict:
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(jcs(name) + ":" + jcs(value[name]) for name in names) + "}"
    if type(value) is list:
        return "[" + ",".join(map(jcs, value)) + "]"
    if type(value) is float:
        raise ValueError("a fraction")
    return json.dumps(value, ensure_ascii=False)


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def trace(record, bundle):
    """What is wrong with a TRACE record, and with what it says of a bundle."""
    found = json.loads(record)
    if jcs(found).encode() != record.rstrip(b"\n"):
        yield "it is not written as RFC 8785 says"
    if found.keys() != REQUIRED:
        yield f"other members: {found.keys() ^ REQUIRED}"
    if found["eat_profile"] != "tag:agentrust-io.com,2026:trace-v0.2":
        yield "another profile"
    if not found["subject"].startswith(("did:", "spiffe://")):
        yield "no subject"
    jwk = found["cnf"]["jwk"]
    if (jwk["kty"], jwk["crv"]) != ("OKP", "Ed25519"):
        yield "another key"
    unsigned = {name: value for name, value in found.items() if name != "signature"}
    key = Ed25519PublicKey.from_public_bytes(unpadded(jwk["x"]))
    try:
        key.verify(unpadded(found["signature"]), jcs(unsigned).encode())
    except InvalidSignature:
        yield "the signature does not verify"
    members = container.members(bundle)
    notes = [Note(text.decode()) for name, text in members if container.sort(name) == "checkpoints"]
    heads = {
        "sha256:" + hashlib.sha256(note.signed).hexdigest(): "sha256:" + note.root.hex()
        for note in notes
    }
    if heads.get(found["tool_transcript"]["hash"]) != found["runtime"]["measurement"]:
        yield "it binds no head of this bundle"
    entries = [
        json.loads(line)
        for name, content in members if container.sort(name) == "entries"
        for line in container.lines(content)
    ]
    if any(entry["execution_id"] and entry["execution_id"] in record.decode() for entry in entries):
        yield "it names an execution"


def action_bindings(lines):
    """What is wrong with lines of action bindings."""
    for number, line in enumerate(lines, 1):
        found = json.loads(line)
        preimage = json.loads(found["preimage"])
        digest = "sha256:" + hashlib.sha256(found["preimage"].encode()).hexdigest()
        sound = (
            jcs(preimage) == found["preimage"]
            and preimage.keys() == ACTION
            and preimage["domain"] == "cmcp.execution-action-binding"
            and preimage["version"] == 1
            and preimage["action_scope"] == found["binding"]
            and digest == found["action_binding"]
        )
        if not sound:
            yield f"line {number}"
