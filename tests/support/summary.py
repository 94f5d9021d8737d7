"""Counts the test cases of a `meson test` run, suite by suite.

Meson counts programs, not test cases. This script reads Meson's log of a run and, in it, the output of each
program:
  * C++ tests print "PASSED name", "FAILED name" or "SKIPPED name: reason" after each case, and at the
    end "cases: N passed, N failed, N skipped" (tests/support/catch_listener.cpp);
  * Python tests end as unittest does ("Ran N tests ...", "OK (skipped=N)");
  * any other program counts as one case, by its exit status (77: skipped).
If a program did not finish (a crash, a time-out), the cases that it had reported count, and the crash or time-out
counts as one more failure. So does a bad exit status without a failed case. A test that repeats a job because
software below it failed prints a line "REPEATED: what".

Prints a table, the slowest programs, the reasons of skips, the repeated jobs, each failure with an excerpt of its
program's output, so that the end of a log is enough, and last the line "N passed, N failed, N skipped". The exit status
is 1 if anything failed or nothing was run.
"""

import argparse
import collections
import json
import pathlib
import re
import signal
import sys
from dataclasses import dataclass, field

PASSED = re.compile(r"(?:PASSED|SKIPPED) |=+$|~+$")
CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
CASE = re.compile(r"^(PASSED|FAILED|SKIPPED) (?!\(\w[\w ]*=\d)(.+)$", re.M)  # not the last line of unittest
RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
VERDICT = re.compile(r"^(?:OK|FAILED)(?: \((.*)\))?$", re.M)
UNITTEST_CASE = re.compile(r" \.\.\. (ok|FAIL|ERROR|skipped) ?.*$", re.M)
UNITTEST_FAILURE = re.compile(r"^=+\n((?:FAIL|ERROR): .+)\n(?:.+\n)?-+\n(.*?)(?=^[=-]{70}$)", re.M | re.S)
UNITTEST_SKIP = re.compile(r"^(\S+) \(.*?\)(?:\n.*?)? \.\.\. skipped ['\"](.*)['\"]$", re.M)
REPEATED = re.compile(r"^REPEATED: (.+)$", re.M)
# The line in which a program that did not finish reports what stopped it.
STOP_REASON = re.compile(r"^(?:HUNG: .+|SUMMARY: \w+Sanitizer: .+)$", re.M)
SANITIZER_STATUS = 66  # see tests/run.sh
EXCERPT = 30  # lines of output shown for a failure
SLOWEST = 12  # programs shown with their times


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    finished: bool = True  # the program printed its final line
    reasons: list = field(default_factory=list)
    repeated: list = field(default_factory=list)
    failures: list = field(default_factory=list)  # each a title and an excerpt of the output

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.reasons += other.reasons
        self.repeated += other.repeated
        self.failures += other.failures

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_catch(text):
    """The counts in the output of C++ test programs, or None. Several programs may have run one after the other."""
    said = CASE.findall(text)
    totals = CASES.findall(text)
    if not said and not totals:
        return None
    verdicts = [verdict for verdict, _ in said]
    c = Counts(*(verdicts.count(v) for v in ("PASSED", "FAILED", "SKIPPED")))
    c.finished = bool(totals)
    if c.finished:  # exact, even if a test's own output is mixed into our lines
        c.passed, c.failed, c.skipped = (sum(int(t[i]) for t in totals) for i in range(3))
    c.reasons = [name for verdict, name in said if verdict == "SKIPPED"]
    return c


def count_unittest(text):
    ran = RAN.search(text)
    if not ran:
        said = UNITTEST_CASE.findall(text)
        if not said:
            return None
        return Counts(said.count("ok"), said.count("FAIL") + said.count("ERROR"),
                      said.count("skipped"), finished=False)
    verdicts = VERDICT.findall(text[ran.end():])
    words = dict(w.split("=") for w in (verdicts[0] if verdicts else "").split(", ") if "=" in w)
    bad = sum(int(words.get(w, 0)) for w in ("failures", "errors", "unexpected successes"))
    skipped = int(words.get("skipped", 0))
    # "Ran N tests" does not include errors outside of test methods (setUpClass).
    passed = max(0, int(ran.group(1)) - bad - skipped)
    c = Counts(passed, bad, skipped)
    c.reasons = [f"{name}: {reason}" for name, reason in UNITTEST_SKIP.findall(text)]
    return c


def ending(entry, text):
    """Why a program failed: the signal, the time-out, or its exit status."""
    code = entry.get("returncode", 1)
    if entry.get("result") == "TIMEOUT":
        how = "timed out"
    elif code < 0 or code > 128:  # from a launcher or a shell, 128 + signal
        number = -code if code < 0 else code - 128
        try:
            how = f"ended by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            how = f"exit status {code}"
    else:
        how = f"exit status {code}"
        if code == SANITIZER_STATUS:
            how += ", a sanitizer's"
    words = STOP_REASON.search(text)
    return how + (f"; {words.group(0)}" if words else "")


def failures(name, entry, text, failed):
    """The failures: each a title, and an excerpt of the output."""
    cases = [case for verdict, case in CASE.findall(text) if verdict == "FAILED"]
    told = [(f"{name}: {title}", said) for title, said in UNITTEST_FAILURE.findall(text)]
    found = [(f"{name}: {case}", "") for case in cases] + told
    if len(found) < failed or entry.get("returncode", 1) not in (0, 1):
        found.append((f"{name}: {ending(entry, text)}", ""))
    if told:
        return [(title, said.strip().splitlines()[-EXCERPT:]) for title, said in found]
    said = [line for line in text.splitlines() if line.strip() and not PASSED.match(line)]
    # What Catch2 prints about the first failure, or else the last lines.
    first = next((i for i, line in enumerate(said) if line.endswith(": FAILED:")), len(said))
    begin = max(0, min(first - 5, len(said) - EXCERPT))
    return [(title, []) for title, _ in found[:-1]] + [(found[-1][0], said[begin:begin + EXCERPT])]


def count_program(entry):
    text = (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")
    code = entry.get("returncode", 1)
    bad = entry.get("result") not in ("OK", "EXPECTEDFAIL", "SKIP")
    name = suite_of(entry) + "/" + entry["name"].split(" / ")[-1]
    c = count_catch(text) or count_unittest(text)
    if c is None:
        if entry.get("result") == "SKIP" or code == 77:
            reason = (text.strip().splitlines() or ["no reason given"])[-1]
            c = Counts(skipped=1, reasons=[f"{name}: {reason}"])
        else:
            c = Counts(passed=0 if bad else 1)
    if bad and (c.failed == 0 or not c.finished):
        c.failed += 1
    if c.failed:
        c.failures = failures(name, entry, text, c.failed)
    c.repeated = REPEATED.findall(text)
    c.seconds = entry.get("duration", 0.0)
    return c


def suite_of(entry):
    head = entry["name"].split(" / ")[0]  # "project:suite+suite / name"
    return head.split(":")[-1].split("+")[0] if " / " in entry["name"] else "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="*", type=pathlib.Path, help="Meson's testlog.json files")
    parser.add_argument("--left-out", action="append", default=[], metavar="SUITE=REASON",
                        help="a suite that was not run on purpose: counts as one skip")
    args = parser.parse_args()

    suites, times = {}, []
    for log in args.logs:
        if log.exists():
            for line in log.read_text(errors="replace").splitlines():
                entry = json.loads(line)
                suites.setdefault(suite_of(entry), Counts()).add(count_program(entry))
                times.append((entry.get("duration", 0.0), suite_of(entry), entry["name"].split(" / ")[-1]))
    for left in args.left_out:
        name, _, reason = left.partition("=")
        suites.setdefault(name, Counts()).add(Counts(skipped=1, reasons=[f"suite {name}: {reason}"]))

    total = Counts()
    for name in sorted(suites):
        c = suites[name]
        total.add(c)
        print(f"{name:<14} {c.line():<42} {c.seconds:7.1f} s")
    for seconds, suite, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"  slow: {suite}/{name} {seconds:.1f} s")
    for kind, said in (("skipped", total.reasons), ("repeated", total.repeated)):
        for what, number in collections.Counter(said).items():
            print(f"  {kind}: {what}" + (f" ({number} times)" if number > 1 else ""))
    for title, said in total.failures:
        print(f"  FAILED: {title}")
        for line in said:
            print(f"    | {line}")
    if total.passed + total.failed == 0:
        print("no test was run")
        total.failed += 1
    print(total.line())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
