# SPDX-License-Identifier: Apache-2.0
"""Packages from PyPI for a test, in a virtual environment of the build folder."""
import fcntl
import os
import subprocess
import sys


def prepare(name, package, module):
    """(its Python, None), or (None, why it cannot be had)."""
    folder = os.path.join(os.environ["JM_BUILD"], "venv-" + name)
    python = os.path.join(folder, "bin", "python")
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tests may want the same one
        return _prepare(folder, python, package, module)


def _prepare(folder, python, package, module):
    try:
        if os.path.exists(python) and subprocess.run([python, "-c", "import " + module], capture_output=True).returncode == 0:
            return python, None
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1",
                        "--timeout", "10", *package.split()], check=True, capture_output=True, timeout=200)
    except (OSError, subprocess.SubprocessError) as e:
        return None, f"{package} cannot be installed here ({type(e).__name__})"
    return python, None
