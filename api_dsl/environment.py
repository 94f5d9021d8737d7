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
    V("LCT_PMI_BACKEND", "Kinds of bootstrap, separated by commas; the first that the environment names is taken. "
                         "`LCI_ATTR_BOOTSTRAP` has precedence."),
    V("LCT_PMI_FILE_NRANKS", "Number of ranks of a job with bootstrap `file`."),
    V("LCT_PMI_FILE_NAME", "Path of that file without its `.job`; default: `lct_pmi_file` in the folder in which the "
                           "program was started."),
    V("LCI_RANK", "TCP bootstrap of the published implementation; not used."),
    V("LCI_WORLD_SIZE", "TCP bootstrap of the published implementation; not used."),
)
