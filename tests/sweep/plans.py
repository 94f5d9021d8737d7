"""What is swept: which calls fail in which scenarios, and how many of them in a run that has little time."""

# Of more calls than this of one kind a sample is tried even if all are asked for.
WHOLE = 2000


# Not swept without being asked for (--scenario, --network): they have not been seen to pass yet.
NOT_YET = {"am_remote", "stream_remote", "device", "collectives", "graph", "cancelling"}


def usual(scenarios):
    return [s for s in scenarios if s not in NOT_YET]


PLANS = {
    "memory": {
        "networks": ["shm"],
        "scenarios": usual,
        # One allocation fails; then that and those after it.
        "calls": {"alloc": ["", "+3", "", "+12"]},
        "sample": 4,
    },
}
