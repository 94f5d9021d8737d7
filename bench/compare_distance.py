"""How far apart the two cores are that a benchmark gets, of a virtual machine whose cores move."""

import json
import subprocess
import time

APART = 4        # times the shortest hand-off that was ever seen: hyperthreads and neighbours are within it
PATIENCE = 1.5   # seconds to wait for near cores
PAUSE = 0.02     # seconds between two looks


class Distance:
    """By a hand-off of a cache line, in a few milliseconds. On a machine whose cores stay where they are all is near."""

    def __init__(self, perf):
        self.command = [str(perf), "floor", "handoff", "--seconds", "0.002", "--rounds", "3", "--json"]
        self.shortest = float("inf")

    def handoff_ns(self):
        done = subprocess.run(self.command, text=True, capture_output=True, timeout=60, check=True)
        return json.loads(done.stdout.splitlines()[0])["median"]

    def learn(self, seconds=3):
        """What is near here: without it the first place counts as near until a nearer one is seen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.are_near()
            time.sleep(PAUSE)

    def are_near(self):
        now = self.handoff_ns()
        self.shortest = min(self.shortest, now)
        return now <= APART * self.shortest

    def wait_until_near(self, patience=PATIENCE):
        """Not for ever: they may stay apart."""
        end = time.monotonic() + patience
        while not self.are_near() and time.monotonic() < end:
            time.sleep(PAUSE)
