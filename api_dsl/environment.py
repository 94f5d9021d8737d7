"""Environment variables that are no attributes. The library warns of every other name that begins with LCI_, so
variables of the library, its tools and its tests must be listed here."""

from api_dsl.schema import Variable as V

VARIABLES = (
    V("LCI_TEST_", "Settings of the library's own tests.", "ours", prefix=True),
    V("LCI_TESTS_LONG", "If 1, the library's own tests with random input run longer, and sweeps try every fault.",
                        "ours"),
    V("LCI_STRESS_", "Settings of the library's own stress tests.", "ours", prefix=True),
    V("LCI_BENCH_", "Settings of the library's own benchmarks.", "ours", prefix=True),
    V("LCI_GENERATED", "Generated headers, for the library's own tests.", "ours"),
    V("LCI_OPTIONS_PROBE", "A program of the library's own tests.", "ours"),
    V("LCI_SOURCE", "Source tree, for the library's own tests.", "ours"),
    V("LCI_BUILD", "Build tree, for the library's own tests.", "ours"),
    V("LCI_LIBRARY", "The shared library, for the library's own tests.", "ours"),
    V("LCI_TCP_ROOT", "Address of rank 0 of a job without launcher, `<host>:<port>`; default: `MASTER_ADDR` and "
                      "`MASTER_PORT`.", "ours"),
    V("LCI_TCP_KEY", "Secret of at least 16 characters that the ranks of a job without launcher share; without one, "
                     "everybody who reaches the port of rank 0 may join.", "ours"),
    V("LCI_LOG_", "Logging of the published implementation; not used.", prefix=True),
    V("LCI_ENABLE_BOOTSTRAP_LCI",
      "Bootstrap switch of the published implementation; not used."),
    V("LCI_INIT_ATTACH_DEBUGGER", "Debugging aid of the published implementation; not used."),
    V("LCI_MASTER_ADDR", "As `MASTER_ADDR`, together with `LCI_MASTER_PORT`, and with precedence over it; "
                         "`LCT_MASTER_ADDR` with `LCT_MASTER_PORT` has precedence over both."),
    V("LCI_MASTER_PORT", "See `LCI_MASTER_ADDR`."),
    V("LCT_PMI_BACKEND", "Kinds of bootstrap, separated by commas; the first that the environment names and that works is "
                         "taken. `LCI_ATTR_BOOTSTRAP` has precedence."),
    V("LCT_PMI_FILE_NRANKS", "Number of ranks of a job with bootstrap `file`."),
    V("LCT_PMI_FILE_NAME", "Path of that file without its `.job`; default: `lct_pmi_file` in the folder in which the "
                           "program was started."),
    V("LCI_RANK", "TCP bootstrap of the published implementation; not used."),
    V("LCI_WORLD_SIZE", "TCP bootstrap of the published implementation; not used."),
    V("LCI_V1_CHECK", "LCI v1.7 (lci.h): 1: check the arguments of each call.", "ours"),
    V("LCI_MAX_ENDPOINTS", "LCI v1.7 (lci.h): endpoints of a process.", "ours"),
    V("LCI_SERVER_NUM_PKTS", "LCI v1.7 (lci.h): packets of the process.", "ours"),
    V("LCI_PACKET_SIZE", "LCI v1.7 (lci.h): bytes of a packet, 36 of them its header.", "ours"),
    V("LCI_USE_DREG", "LCI v1.7 (lci.h): 1: registrations on the fly are cached; 0: they are not.", "ours"),
    V("LCI_SERVER_MAX_SENDS", "LCI v1.7 (lci.h): `net_max_sends` of its devices.", "ours"),
    V("LCI_SERVER_MAX_RECVS", "LCI v1.7 (lci.h): `net_max_recvs` of its devices.", "ours"),
    V("LCI_SERVER_MAX_CQES", "LCI v1.7 (lci.h): `net_max_cqes` of its devices.", "ours"),
    *(V(name, "LCI v1.7 (lci.h); accepted, without effect.") for name in (
        "LCI_DEFAULT_QUEUE_LENGTH", "LCI_MAX_QUEUE_LENGTH", "LCI_DEFAULT_TABLE_LENGTH", "LCI_MAX_TABLE_LENGTH",
        "LCI_PACKET_RETURN_THRESHOLD", "LCI_IBV_USE_ODP", "LCI_IBV_USE_PREFETCH", "LCI_TOUCH_LBUFFER",
        "LCI_SEND_SLOW_DOWN_USEC", "LCI_RECV_SLOW_DOWN_USEC", "LCI_IBV_ENABLE_EVENT_POLLING_THREAD", "LCI_PM_BACKEND",
        "LCI_PM_BACKEND_LOG", "LCI_MT_BACKEND", "LCI_OFI_PROVIDER_HINT", "LCI_ENABLE_MONITOR_THREAD",
        "LCI_MONITOR_THREAD_INTERVAL", "LCI_PAPI_EVENTS",)),
)
