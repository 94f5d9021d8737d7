"""Instructions of the fast path, counted by callgrind.

    python3 tests/perf/count.py [--json] [--check] PROGRAM

PROGRAM (tests/perf/count.cpp) is run twice, for a few turns and for some more; the difference
between the two, divided by the messages between them, is free of everything that happens once.
The count does not depend on the machine's load or speed, only on the compiler.

--check compares with budgets.json, which holds the most instructions that each part may take. A
change that makes a part cheaper is a reason to lower its budget, one that makes it dearer is a
reason to think; either way the file is edited by hand.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 16           # as in count.cpp
TURNS = (20, 120)    # of the two runs

# part -> (what it is, messages or calls a turn)
PARTS = {
    "post_am": ("post an 8-byte active message: functor with .device()", BATCH),
    "post_am_plain": ("the same: plain function, default device", BATCH),
    "progress_am": ("progress with one message, to its handler and back", BATCH),
    "progress_am_16": ("progress, a message of 16", BATCH),
    "progress_idle": ("progress that finds nothing", BATCH),
    "post_am_cq": ("post an 8-byte active message for a completion queue", BATCH),
    "progress_am_cq_16": ("progress, a message of 16: copied, pushed to the queue", BATCH),
    "pop_and_free": ("pop the message and free its copy", BATCH),
    "cq_push": ("signal a completion queue", 2 * BATCH),
    "cq_pop": ("pop a completion queue", BATCH),
    "cq_pop_many": ("pop a completion queue, 16 at once", BATCH),
    "post_recv": ("post an 8-byte receive", BATCH),
    "post_send": ("post an 8-byte send", BATCH),
    "put_shared": ("put 8 bytes to shared memory", BATCH),
    "put_signal": ("put 8 bytes to shared memory, with a signal", BATCH),
    "progress_signal": ("progress with one signal, to its handler and back", BATCH),
    "get_shared": ("get 8 bytes from shared memory", BATCH),
    "fetch_add_shared": ("fetch and add 8 bytes in shared memory", BATCH),
    "progress_send_16": ("progress, a send of 16: matched, copied, counted", BATCH),
    "post_ordered": ("post an 8-byte active message in a stream", BATCH),
    "progress_ordered_16": ("progress, a message of a stream of 16, to its handler", BATCH),
}

# of tests/perf/count_v1.cpp: LCI v1.7's calls beside the core's, messages of 8 bytes
V1_PARTS = {
    "am": ("the core: post an active message", BATCH),
    "puts": ("LCI_puts", BATCH),
    "progress_am_16": ("the core: progress, 16 messages to a handler", BATCH),
    "progress_puts_16": ("LCI_progress, 16 of LCI_puts to a handler", BATCH),
    "recv": ("the core: post a receive with a synchronizer", BATCH),
    "recvs": ("LCI_recvs with a synchronizer", BATCH),
    "send": ("the core: post a send", BATCH),
    "sends": ("LCI_sends", BATCH),
    "progress_send_16": ("the core: progress, 16 sends to synchronizers", BATCH),
    "progress_sends_16": ("LCI_progress, 16 of LCI_sends to synchronizers", BATCH),
    "test": ("the core: test a synchronizer", BATCH),
    "v1_test": ("LCI_sync_test", BATCH),
}

# of tests/perf/count_ccs.cpp: CCS's active messages beside the core's, of as many bytes
CCS_PARTS = {
    "am_0": ("the core: post an active message of 0 bytes", BATCH),
    "amrequest_0": ("CCS_amrequest without arguments", BATCH),
    "am_32": ("the core: post an active message of 32 bytes", BATCH),
    "amrequest_4": ("CCS_amrequest with 4 arguments", BATCH),
    "progress_am_0_16": ("the core: progress, 16 messages of 0 bytes to a handler", BATCH),
    "poll_0_16": ("CCS_poll, 16 messages without arguments", BATCH),
    "progress_am_32_16": ("the core: progress, 16 messages of 32 bytes to a handler", BATCH),
    "poll_4_16": ("CCS_poll, 16 messages with 4 arguments", BATCH),
}

# of tests/perf/count_rpc.cpp: calls of lci/rpc.hpp without arguments, over shared memory
RPC_PARTS = {
    "rpc_post": ("post a call with a future", 2 * BATCH),
    "rpc_serve": ("progress until one call is executed and answered", BATCH),
    "rpc_serve_16": ("progress until 16 calls are executed and answered", BATCH),
    "rpc_take_result": ("get the result, with progress", 2 * BATCH),
    "rpc_idle": ("progress that finds nothing", BATCH),
}


def inclusive_costs(text):
    """Instructions of each part_* function with all it calls, from callgrind's output."""
    names, costs, callee = {}, {}, None
    lines = iter(text.splitlines())
    for line in lines:
        match = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
        if match:
            if match.group(2):
                names[match.group(1)] = match.group(2)
            if line.startswith("cfn="):
                callee = names[match.group(1)]
        elif line.startswith("calls=") and callee is not None:
            cost = int(next(lines).split()[-1])
            part = re.match(r"part_(\w+)", callee)
            if part:
                costs[part.group(1)] = costs.get(part.group(1), 0) + cost
    return costs


def run(program, turns):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind"
        command = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}",
                   program, str(turns)]
        # Settings in the user's environment would change the numbers.
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("LCI_", "PMI_"))}
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=240, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return inclusive_costs(out.read_text())


def count(program, parts=None):
    """Instructions a message of each part, as {part: number}."""
    parts = parts or PARTS
    few, many = (run(program, turns) for turns in TURNS)
    missing = [p for p in parts if p not in few or p not in many]
    if missing:
        raise RuntimeError(f"callgrind has not seen {', '.join(missing)}")
    turns = TURNS[1] - TURNS[0]
    return {p: (many[p] - few[p]) / (turns * parts[p][1]) for p in parts}


def budgets():
    return json.loads((HERE / "budgets.json").read_text())


def over_budget(counted):
    """What exceeds its budget, as lines of text."""
    limits = budgets()
    return [f"{p}: {counted[p]:.1f} instructions, budget {limits[p]} ({PARTS[p][0]})"
            for p in PARTS if counted[p] > limits[p]]


def layer_table(counted, parts):
    return "\n".join(f"{counted[p]:12.1f}  {p}: {what}" for p, (what, _) in parts.items())


def table(counted):
    limits = budgets()
    lines = [f"{'instructions':>12} {'budget':>7}  part"]
    for p, (what, _) in PARTS.items():
        lines.append(f"{counted[p]:12.1f} {limits[p]:7d}  {p}: {what}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--v1", action="store_true", help="PROGRAM is count_v1")
    parser.add_argument("--ccs", action="store_true", help="PROGRAM is count_ccs")
    parser.add_argument("--rpc", action="store_true", help="PROGRAM is count_rpc")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--check", action="store_true", help="exit code 1 above a budget")
    args = parser.parse_args()
    if args.v1 or args.ccs or args.rpc:
        parts = V1_PARTS if args.v1 else CCS_PARTS if args.ccs else RPC_PARTS
        print(layer_table(count(args.program, parts), parts))
        return 0
    counted = count(args.program)
    print(json.dumps(counted) if args.json else table(counted))
    if args.check:
        over = over_budget(counted)
        for line in over:
            print("over budget: " + line, file=sys.stderr)
        return 1 if over else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
