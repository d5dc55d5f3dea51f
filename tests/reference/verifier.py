#!/usr/bin/env python3
"""The second verifier's command line: `check` one bundle, or `agree` with ours.

`agree FOLDER` reads what the tamper tests wrote into FOLDER: bundles, and for
each what the first verifier said. Both must say the same of all five claims.
"""

import argparse
import hashlib
import json
import multiprocessing
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from countersign_verifier import interchange as forms  # noqa: E402
from countersign_verifier.container import Unusable  # noqa: E402
from countersign_verifier.verdict import CLAIMS  # noqa: E402
from countersign_verifier.verify import verify  # noqa: E402

RELEASED = Path(__file__).resolve().parents[2] / "guest" / "released"


def released():
    """The components whose rules the reference has, by profile and digest."""
    files = RELEASED.glob("*.wasm")
    digest = lambda path: "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return frozenset((path.name.removesuffix(".wasm"), digest(path)) for path in files)


def check(arguments):
    requests = [Path(path).read_bytes() for path in arguments.request]
    receipts = [Path(path).read_text() for path in arguments.receipt]
    since = [Path(path).read_text() for path in arguments.since]
    data = Path(arguments.bundle).read_bytes()
    try:
        claims, findings = verify(data, arguments.trust, requests, receipts, since, released())
    except Unusable as unusable:
        print(f"unusable: {unusable}")
        return 3
    for claim in CLAIMS:
        print(f"{claim:<15} {claims[claim]}")
        for why in findings.against[claim][:4]:
            print(f"    but: {why}")
        for why in findings.gaps[claim][:4]:
            print(f"    not shown: {why}")
    return 1 if "contradicted" in claims.values() else 0


def _agree(task):
    """One bundle's name, and where the two differ."""
    folder, said = task
    data = (Path(folder) / said["bundle"]).read_bytes()
    approved = frozenset((profile, digest) for profile, digest in said["approve"].items())
    requests = [message.encode() for message in said["requests"]]
    try:
        claims, findings = verify(
            data, said["trust"], requests, said["receipts"], said["since"], approved
        )
    except Unusable as unusable:
        return [f"{said['bundle']} ({said['what']}): unusable here: {unusable}"]
    return [
        f"{said['bundle']} ({said['what']}), {claim}: {said['claims'][claim]} there, {claims[claim]} here "
        f"({(findings.against[claim] or findings.gaps[claim])[:2]})"
        for claim in CLAIMS
        if claims[claim] != said["claims"][claim]
    ]


def agree(arguments):
    folder = Path(arguments.folder)
    tasks = [
        (str(folder), json.loads(line))
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    with multiprocessing.Pool() as pool:
        answers = list(pool.imap_unordered(_agree, tasks, chunksize=16))
    differences = [line for answer in answers for line in answer]
    for line in differences[:40]:
        print(line)
    failed = sum(1 for answer in answers if answer)
    contradicted = sum("contradicted" in said["claims"].values() for _, said in tasks)
    print(f"{len(tasks)} bundles, {contradicted} of them contradicted")
    print(f"{len(tasks) - failed} passed, {failed} failed")
    return 1 if failed or not tasks else 0


def interchange(arguments):
    """Judges a TRACE record beside a bundle, and lines of action bindings."""
    record = Path(arguments.trace).read_bytes()
    faults = list(forms.trace(record, Path(arguments.bundle).read_bytes()))
    lines = Path(arguments.action_bindings).read_text().splitlines()
    faults += [f"action bindings: {fault}" for fault in forms.action_bindings(lines)]
    for fault in faults:
        print(fault)
    other = " with text that is not ASCII" if not record.isascii() else ""
    print(f"a TRACE record{other} and {len(lines)} action bindings: {len(faults)} faults")
    return 1 if faults or not lines else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("check", help="judge one bundle")
    one.add_argument("bundle")
    for name in ("trust", "request", "receipt", "since"):
        one.add_argument(f"--{name}", action="append", default=[])
    one.set_defaults(run=check)
    other = commands.add_parser("interchange", help="judge the other forms of a bundle")
    for name in ("bundle", "trace", "action_bindings"):
        other.add_argument(name)
    other.set_defaults(run=interchange)
    many = commands.add_parser("agree", help="judge what the tamper tests wrote")
    many.add_argument("folder")
    many.set_defaults(run=agree)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
