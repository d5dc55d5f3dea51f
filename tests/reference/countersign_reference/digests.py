"""The four digests of docs/spec/action-binding.md, section 4."""

import hashlib


def _digest(*lines, last):
    head = "".join(line + "\n" for line in lines).encode()
    return "sha256:" + hashlib.sha256(head + last).hexdigest()


def binding(profile, action):
    return _digest("countersign.action-binding.v1", profile, last=action)


def continuation(profile, bound, canonical):
    return _digest("countersign.continuation.v1", profile, bound, last=canonical)


def request_state(text):
    return _digest("countersign.request-state.v1", last=text.encode())


def client_context(canonical):
    return _digest("countersign.client-context.v1", last=canonical)


def plain(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()
