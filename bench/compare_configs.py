"""The launches of bench/compare.sh: figures, and for each of them the configurations of LCI and of the
peers that are compared."""

import dataclasses
import os

OPENMPI = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none"]
OVER_UCX = ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "opal_common_ucx_tls", "any",
            "--mca", "opal_common_ucx_devices", "any"]
TCP_OF_UCX = {"UCX_TLS": "tcp,self"}
LCI_OVER_TCP = {"LCI_ATTR_BACKEND": "tcp"}
LCI_OVER_LIBFABRIC = {"LCI_ATTR_BACKEND": "ofi", "LCI_ATTR_OFI_PROVIDER_NAME": "tcp"}
SIZES = "8,64,512,4096,32768,262144"
BANDWIDTH_SIZES = "256,4096,65536,1048576"

# Peer -> how to install it: Debian packages.
PACKAGES = {
    "mpich": "mpich libmpich-dev",
    "openmpi": "openmpi-bin libopenmpi-dev",
    "openshmem": "openmpi-bin libopenmpi-dev",
    "ucx": "libucx-dev",
    "libfabric": "libfabric-dev",
}


# The baseline of LCI's threads: LCI's own processes.
OWN_PROCESSES = "lci by processes"


@dataclasses.dataclass(frozen=True)
class Variant:
    """One configuration. `library`: lci, a peer, or OWN_PROCESSES."""
    name: str
    library: str
    command: tuple
    environment: dict = dataclasses.field(default_factory=dict)
    any_status: bool = False  # uses the output whatever the launcher's exit status


@dataclasses.dataclass(frozen=True)
class Figure:
    key: str
    title: str
    unit: str
    variants: tuple
    shown: tuple = (8,)  # sizes in the table; plots show all
    # LCI's variant -> bound of the ratio, where one is set
    aim: dict = dataclasses.field(default_factory=dict)
    field: str = ""      # of a start's output, where that is what is measured
    plot: str = ""       # x axis of the plot it belongs to: size or threads

    @property
    def lower_is_better(self):
        return self.unit in ("ns", "ms", "s", "kB")

    def ours(self):
        return [v for v in self.variants if v.library == "lci"]

    def peers(self):
        return [v for v in self.variants if v.library != "lci"]


class Programs:
    """Builds commands. `common`: options for every measuring program."""

    def __init__(self, build, common):
        self.bench, self.common = build / "bench", common
        self.lcirun = str(build / "lib" / "tools" / "lcirun" / "lcirun")

    def lci(self, name, what, *more, ranks=2, environment=None):
        command = (self.lcirun, "-n", str(ranks), str(self.bench / "lci_perf"), *what.split(), *more,
                   *self.common)
        return Variant(name, "lci", command, environment or {})

    def peer(self, library):
        return str(self.bench / "peers" / f"peer_{library}")

    def ucx(self, name, what, *more, environment=None):
        return Variant(name, "ucx", (self.peer("ucx"), *what.split(), *more, *self.common), environment or {})

    def libfabric(self, name, what, *more, provider="shm"):
        return Variant(name, "libfabric",
                       (self.peer("libfabric"), *what.split(), "--provider", provider, *more, *self.common))

    def mpich(self, name, what, *more, ranks=2, environment=None):
        command = ("mpiexec.mpich", "-n", str(ranks), self.peer("mpich"), *what.split(), *more, *self.common)
        # Debian 12's hydra reports for one job in ten to forty, at its end, that it was hung up.
        return Variant(name, "mpich", command, environment or {}, any_status=True)

    def openmpi(self, name, what, *more, ranks=2, settings=()):
        command = (*OPENMPI, *settings, "-n", str(ranks), self.peer("openmpi"), *what.split(), *more)
        return Variant(name, "openmpi", (*command, *self.common))

    def openshmem(self, name, what, *more):
        command = ("oshrun", *OPENMPI[1:], "-quiet", "-n", "2", self.peer("openshmem"), *what.split(), *more)
        return Variant(name, "openshmem", (*command, *self.common), any_status=True)

    def messages(self, metric, *more):
        """Every peer that sends messages, with its best settings for one thread."""
        return (self.ucx("UCX am", f"am {metric}", *more), self.ucx("UCX tag", f"sendrecv {metric}", *more),
                self.mpich("MPICH", f"sendrecv {metric}", *more),
                self.openmpi("Open MPI", f"sendrecv {metric}", *more),
                self.openmpi("Open MPI, UCX", f"sendrecv {metric}", *more, settings=OVER_UCX),
                self.libfabric("libfabric shm", f"sendrecv {metric}", *more))

    def one_sided(self, what):
        return (self.ucx("UCX", what), self.mpich("MPICH", what), self.openmpi("Open MPI", what),
                self.openmpi("Open MPI, UCX", what, settings=OVER_UCX), self.openshmem("OpenSHMEM", what))


def between_processes(p):
    am = [p.lci("am, handler", "am latency", "--size", SIZES),
          p.lci("am, queue", "am latency", "--comp", "cq", "--size", SIZES),
          p.lci("sendrecv", "sendrecv latency", "--size", SIZES)]
    rate = [p.lci("am, handler", "am rate", "--size", SIZES),
            p.lci("am, queue", "am rate", "--comp", "cq", "--size", SIZES),
            p.lci("am, queue of packets", "am rate", "--comp", "cq", "--zero-copy", "--size", SIZES)]
    bandwidth = [p.lci("am, handler", "am bandwidth", "--size", BANDWIDTH_SIZES),
                 p.lci("sendrecv", "sendrecv bandwidth", "--size", BANDWIDTH_SIZES),
                 p.lci("put into shared memory", "put bandwidth", "--size", BANDWIDTH_SIZES)]
    safe = ("--thread-safe",)
    return [
        Figure("latency", "latency, one way", "ns", (*am, *p.messages("latency", "--size", SIZES)),
               plot="size"),
        Figure("rate", "rate of messages, window 64", "msg/s", (*rate, *p.messages("rate", "--size", SIZES)),
               plot="size"),
        Figure("rate-multiple", "rate of sends and receives; peers ready for threads", "msg/s", (
            p.lci("sendrecv", "sendrecv rate"), p.ucx("UCX tag", "sendrecv rate", *safe),
            p.mpich("MPICH", "sendrecv rate", *safe), p.openmpi("Open MPI", "sendrecv rate", *safe),
            p.openmpi("Open MPI, UCX", "sendrecv rate", *safe, settings=OVER_UCX))),
        Figure("bandwidth", "bandwidth, window 64", "MB/s",
               (*bandwidth, *p.messages("bandwidth", "--size", BANDWIDTH_SIZES)),
               shown=(256, 4096, 65536, 1048576), plot="size"),
    ]


def binding(threads, cores):
    """Where two groups of this many threads run: each on a core of its own, or, where the cores do not suffice, so that
    partners never share one."""
    return "pack" if 2 * threads <= cores else "cross"


def thread_counts(cores):
    """2, 4, 8 .. and the number of cores."""
    return sorted({cores, 2, *(2 ** n for n in range(1, cores.bit_length()) if 2 ** n <= cores)})


def with_threads(p, threads, cores):
    """Two processes of this many threads: with a device each, and with one shared device."""
    bind = binding(threads, cores)
    n = ("--threads", str(threads), "--bind", bind)
    waiting = ["--mca", "mpi_yield_when_idle", "1"]
    ends = {"dedicated": ("--devices", "dedicated"), "shared": ("--devices", "shared")}
    out = []
    for kind, devices in ends.items():
        variants = [p.lci("am, handler", "am rate", *n, *devices),
                    p.lci("am, queue", "am rate", "--comp", "cq", *n, *devices),
                    p.lci("sendrecv", "sendrecv rate", *n, *devices),
                    p.ucx("UCX am", "am rate", *n, f"--{kind}"),
                    p.ucx("UCX tag", "sendrecv rate", *n, f"--{kind}"),
                    p.mpich("MPICH", "sendrecv rate", *n, f"--{kind}"),
                    p.mpich("MPICH, test and yield", "sendrecv rate", *n, f"--{kind}", "--yield"),
                    p.openmpi("Open MPI", "sendrecv rate", *n, f"--{kind}", settings=waiting),
                    p.openmpi("Open MPI, test and yield", "sendrecv rate", *n, f"--{kind}", "--yield",
                              settings=waiting),
                    p.openmpi("Open MPI, UCX, test and yield", "sendrecv rate", *n, f"--{kind}", "--yield",
                              settings=[*waiting, *OVER_UCX])]
        if kind == "dedicated":
            variants.append(p.libfabric("libfabric shm", "sendrecv rate", *n, "--dedicated"))
        each = "a device, worker or communicator for each" if kind == "dedicated" else "one shared by all"
        out.append(Figure(f"threads-{threads}-{kind}", f"rate of 2 processes x {threads} threads, {each}",
                          "msg/s",
                          tuple(variants), plot="threads"))
    processes = p.lci("LCI, processes of one thread", "am rate", "--processes", "--bind", bind, ranks=2 * threads)
    out.append(Figure(f"threads-{threads}-or-processes",
                      f"rate of 2 processes x {threads} threads, a device for each, beside {2 * threads} processes",
                      "msg/s", (out[0].variants[0], dataclasses.replace(processes, library=OWN_PROCESSES))))
    return out


def within_a_process(p):
    def variants(metric):
        poll = ("--thread-safe", "--yield")
        return (p.lci("am, handler", f"am {metric}", ranks=1),
                p.lci("am, handler, dedicated", f"am {metric}", "--devices", "dedicated", ranks=1),
                p.lci("sendrecv", f"sendrecv {metric}", ranks=1),
                p.lci("sendrecv, dedicated", f"sendrecv {metric}", "--devices", "dedicated", ranks=1),
                p.ucx("UCX am", f"am {metric}", "--ranks", "1", "--dedicated"),
                p.ucx("UCX tag", f"sendrecv {metric}", "--ranks", "1", "--dedicated"),
                p.ucx("UCX tag, shared", f"sendrecv {metric}", "--ranks", "1", "--shared"),
                # MPICH's own wait hangs when both threads are inside of it.
                p.mpich("MPICH, test and yield", f"sendrecv {metric}", *poll, ranks=1),
                p.openmpi("Open MPI", f"sendrecv {metric}", "--thread-safe", ranks=1),
                p.openmpi("Open MPI, test and yield", f"sendrecv {metric}", *poll, ranks=1))

    return [Figure("process-rate", "rate between 2 threads of a process", "msg/s", variants("rate")),
            Figure("process-latency", "latency between 2 threads of a process", "ns", variants("latency"))]


def to_memory(p):
    out = []
    for op, title in (("put", "put"), ("get", "get"), ("atomic", "fetch-and-add")):
        out.append(Figure(f"{op}-rate", f"rate of {title} on shared memory, call after call", "msg/s",
                          (p.lci(op, f"{op} rate"), *p.one_sided(f"{op} rate"))))
        out.append(Figure(f"{op}-latency", f"latency of {title} on shared memory, each complete", "ns",
                          (p.lci(op, f"{op} latency"), *p.one_sided(f"{op} latency"))))
    out.append(Figure("putsignal", "put with notification, one way", "ns",
                      (p.lci("putsignal", "putsignal latency"), *p.one_sided("putsignal latency"))))
    out.append(Figure("strided", "put of 512 x 512 doubles out of 1024 x 1024", "MB/s",
                      (p.lci("strided", "strided bandwidth"), *p.one_sided("strided bandwidth")),
                      shown=(2097152,)))
    return out


def of_parts(p, threads):
    """What the paper calls resources, one shared by all threads; the peers have no counterpart."""
    variants = [p.lci(metric, f"resource {metric}", "--threads", str(threads), ranks=1)
                for metric in ("cq", "matching", "packet")]
    return Figure(f"resources-{threads}", f"use of a part of the library by {threads} "
                  f"thread{'s' if threads > 1 else ''} at once", "op/s", tuple(variants), shown=(0,),
                  plot="threads")


def over_tcp(p):
    def variants(metric, *more):
        tcp = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        return (p.lci("am, handler", f"am {metric}", *more, environment=LCI_OVER_TCP),
                p.lci("sendrecv", f"sendrecv {metric}", *more, environment=LCI_OVER_TCP),
                p.lci("am, handler, by libfabric", f"am {metric}", *more, environment=LCI_OVER_LIBFABRIC),
                p.ucx("UCX am", f"am {metric}", *more, environment=TCP_OF_UCX),
                p.ucx("UCX tag", f"sendrecv {metric}", *more, environment=TCP_OF_UCX),
                p.mpich("MPICH", f"sendrecv {metric}", *more, environment=TCP_OF_UCX),
                p.openmpi("Open MPI", f"sendrecv {metric}", *more, settings=tcp),
                p.libfabric("libfabric tcp", f"sendrecv {metric}", *more, provider="tcp;ofi_rxm"))

    return [Figure("tcp-latency", "latency over TCP", "ns", variants("latency")),
            Figure("tcp-rate", "rate over TCP, window 64", "msg/s", variants("rate")),
            Figure("tcp-bandwidth", "bandwidth over TCP, window 64", "MB/s",
                   variants("bandwidth", "--size", BANDWIDTH_SIZES), shown=(4096, 65536, 1048576))]


def of_the_start(p):  # its commands take no options
    lci = Variant("LCI", "lci", (p.lcirun, "-n", "2", str(p.bench / "start_time")))
    peers = (p.ucx("UCX", "start"), p.mpich("MPICH", "start"), p.openmpi("Open MPI", "start"),
             p.openmpi("Open MPI, UCX", "start", settings=OVER_UCX), p.openshmem("OpenSHMEM", "start"),
             Variant("libfabric shm", "libfabric", (p.peer("libfabric"), "start")))
    return [Figure("start", "start of 2 processes: exec to the first message", "ms", (lci, *peers),
                   shown=(0,), field="message_ms"),
            Figure("memory", "resident memory of a process after start", "kB", (lci, *peers), shown=(0,),
                   field="rss_kb")]


# Figure -> target ratios of LCI's variants: for 8 bytes unless a size is given.
AIMS = {
    "latency": {"am, handler": "at most 0.7"},
    "rate": {"am, handler": "at least 2.5", "am, queue": "at least 2", "am, queue of packets": "at least 2"},
    "rate-multiple": {"sendrecv": "at least 2"},
    "bandwidth": dict.fromkeys(("am, handler", "sendrecv"), "at least 1, with 256 bytes 1.5") |
                 {"put into shared memory": "at least 1, with 65536 bytes 1.5"},
    "threads-2-dedicated": {"am, handler": "at least 2"},
    "threads-2-shared": {"am, handler": "at least 2"},
    "threads-2-or-processes": {"am, handler": "at least 0.95"},
    "process-rate": {"am, handler, dedicated": "at least 2"},
    "process-latency": {"am, handler, dedicated": "at most 0.7"},
    "put-rate": {"put": "at least 2"},
    "get-rate": {"get": "at least 2"},
    "atomic-rate": {"atomic": "at least 2"},
    "putsignal": {"putsignal": "at most 0.85"},
    "strided": {"strided": "at least 1.1"},
    "start": {"LCI": "at most 1"},
    "memory": {"LCI": "at most 1"},
    "tcp-latency": {"am, handler": "at most 1"},
    "tcp-rate": {"am, handler": "at least 1.5"},
}


def figures(build, common):
    """All of them, in the order of the report."""
    p = Programs(build, common)
    cores = len(os.sched_getaffinity(0))
    all_figures = [
        *between_processes(p), *(f for n in thread_counts(cores) for f in with_threads(p, n, cores)),
        *within_a_process(p), *to_memory(p),
        *(of_parts(p, n) for n in sorted({1, *thread_counts(cores), 2 * cores})),
        *of_the_start(Programs(build, ())), *over_tcp(p)]
    return [dataclasses.replace(f, aim=AIMS.get(f.key, {})) for f in all_figures]
