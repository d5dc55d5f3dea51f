#!/usr/bin/env python3
"""Runs vectors/ in the released components under PyPI's `wasmtime`.

Makes its own virtual environment under target/ (once for each list of
requirements), then runs itself there. `host` talks to the component and
`check` compares; this file only prepares.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
REQUIREMENTS = HERE / "requirements.txt"
ENVIRONMENT = ROOT / "target" / "hosts" / "python"


def prepare():
    """The environment's interpreter, after installing what is missing."""
    python = ENVIRONMENT / "bin" / "python"
    installed = ENVIRONMENT / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if not (python.exists() and installed.exists() and installed.read_text() == wanted):
        print(f"installing {wanted.strip()} into {ENVIRONMENT.relative_to(ROOT)}", flush=True)
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS],
            check=True,
        )
        installed.write_text(wanted)
    return python


def main():
    if Path(sys.prefix).resolve() != ENVIRONMENT:
        python = prepare()
        os.execv(python, [python, str(Path(__file__).resolve()), *sys.argv[1:]])
    sys.path.insert(0, str(HERE))
    import check

    return check.run(ROOT)


if __name__ == "__main__":
    sys.exit(main())
