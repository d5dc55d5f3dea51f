#!/usr/bin/env python3
"""The command line of the reference: `vectors`, `generate`, `batch`, `admit`.

Run as `python3 tests/reference/reference.py COMMAND`; README.md says more.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from countersign_reference import batch  # noqa: E402

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def main(arguments):
    match arguments:
        case ["vectors", *rest]:
            from countersign_reference import runner

            return runner.run(Path(rest[0]) if rest else VECTORS)
        case ["generate", *rest]:
            from countersign_reference import generate

            return generate.run(VECTORS, check="--check" in rest)
        case ["batch"]:
            batch.run(sys.stdin, sys.stdout)
            return 0
        case ["admit"]:
            print(json.dumps(batch.verdict(sys.stdin.buffer.read()), indent=2))
            return 0
    print("usage: reference.py vectors [FOLDER] | generate [--check] | batch | admit", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
