"""Measures how far apart the two cores of a benchmark are, on a virtual machine whose host moves virtual cores."""

import json
import subprocess
import time

APART = 4        # times the shortest hand-off seen so far: hyperthreads and neighbours are within this
PATIENCE = 1.5   # seconds to wait for near cores
PAUSE = 0.02     # seconds between two measurements


class Distance:
    """The distance as the time of a hand-off of a cache line, measured in a few milliseconds, relative to the shortest
    one seen. Where the host doesn't move virtual cores, each measurement counts as near."""

    def __init__(self, perf):
        self.command = [str(perf), "floor", "handoff", "--seconds", "0.002", "--rounds", "3", "--json"]
        self.shortest = float("inf")

    def handoff_ns(self):
        done = subprocess.run(self.command, text=True, capture_output=True, timeout=60, check=True)
        return json.loads(done.stdout.splitlines()[0])["median"]

    def learn(self, seconds=3):
        """Finds the shortest hand-off: without this the first distance counts as near until a shorter one is seen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.are_near()
            time.sleep(PAUSE)

    def are_near(self):
        now = self.handoff_ns()
        self.shortest = min(self.shortest, now)
        return now <= APART * self.shortest

    def wait_until_near(self, patience=PATIENCE):
        """Waits at most `patience` seconds: the cores may stay apart."""
        end = time.monotonic() + patience
        while not self.are_near() and time.monotonic() < end:
            time.sleep(PAUSE)
