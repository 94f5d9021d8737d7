"""Runs the tools under test, whose paths are in the environment."""

import os
import subprocess

INFO, PERF, LCIRUN = (os.environ.get(name, "") for name in ("INFO", "PERF", "LCIRUN"))


def clean_environment(**variables):
    """This process's environment without variables of LCI and of launchers."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LCI_", "PMI_"))}
    return {**kept, **variables}


def run(*command, **variables):
    return subprocess.run([str(c) for c in command], env=clean_environment(**variables),
                          capture_output=True, text=True, timeout=120, check=False)
