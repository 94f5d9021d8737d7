"""Arguments that several operations share."""

from api_dsl.schema import Argument as A, Default

# How an empty runtime is replaced. `required`: by the device's, else the default one, else it is an error.
# `on_demand`: as `required`, but only if another argument's default comes from it.
# `if_any`: by the default one if there is one, else it stays empty.
runtime = A("runtime", "runtime_t", "Runtime that provides the defaults.", "runtime_t()",
            runtime="required")
runtime_on_demand = A("runtime", "runtime_t",
                      "Runtime that provides the defaults, if one is needed.", "runtime_t()",
                      runtime="on_demand")
runtime_if_any = A("runtime", "runtime_t", "Runtime to use; by default the process's default runtime, if there is "
                                           "one.",
                   "runtime_t()", runtime="if_any")

device = A("device", "device_t", "Device to use.", "device_t()",
           resolve=Default("runtime", "default_device",
                           "the runtime has no default device: pass .device()"))
device_for_progress = A(
    "device", "device_t", "Device to make progress on while waiting.", "device_t()",
    resolve=Default("runtime", "default_device",
                    "the runtime has no default device: pass .device() or .do_progress(false)",
                    when="do_progress"))
endpoint = A("endpoint", "endpoint_t", "Endpoint to use.", "endpoint_t()",
             resolve=Default("device", "default_endpoint",
                             "the device has no default endpoint: pass .endpoint()"))
progress_endpoint = A("endpoint", "endpoint_t", "Endpoint for messages that are sent inside progress.",
                      "endpoint_t()",
                      resolve=Default("device", "progress_endpoint",
                                      "the device has no progress endpoint: pass .endpoint()"))
net_context = A("net_context", "net_context_t", "Net context that the device is opened on.",
                "net_context_t()",
                resolve=Default("runtime", "default_net_context",
                                "the runtime has no default net context: pass .net_context()"))
pool_if_any = A("packet_pool", "packet_pool_t",
                "Packet pool from which posts to this device take packets. Without one, and without a default one of "
                "the runtime, the device supports raw network operations and posts that need no packet (small "
                "messages, large ones, puts and gets); other posts throw unless they pass a packet pool that is "
                "registered with the device.",
                "packet_pool_t()", resolve=Default("runtime", "default_packet_pool", ""))
packet_pool = A("packet_pool", "packet_pool_t", "Packet pool to use.", "packet_pool_t()",
                resolve=Default("runtime", "default_packet_pool",
                                "the runtime has no default packet pool: pass .packet_pool()"))
device_packet_pool = A("packet_pool", "packet_pool_t", "Packet pool to take packets from.",
                       "packet_pool_t()",
                       resolve=Default("device", "packet_pool", ""))
matching_engine = A("matching_engine", "matching_engine_t",
                    "Matching engine; messages match only receives of the same one.",
                    "matching_engine_t()",
                    resolve=Default("runtime", "default_matching_engine",
                                    "the runtime has no default matching engine: pass "
                                    ".matching_engine()"))

name = A("name", "const char*",
         "Name shown in log and error messages: a literal, or text that outlives the object.", '"unnamed"')
user_context = A("user_context", "void*", "Any value of the program's, stored with the object.",
                 "nullptr")

# Positional arguments. Each operation checks its completion object itself.
comp = A("comp", "comp_t", "Completion object.", may_be_empty=True)
graph = A("comp", "comp_t", "Completion graph.", may_be_empty=True)
p_out = A("p_out", "status_t*",
          "Array for the statuses, as many as the synchronizer's threshold; may be null.")
timeout = A("timeout", "double", "Time-out in seconds; negative: none.", source="ours")

# Arguments of waits.
do_progress = A("do_progress", "bool", "Whether to call progress while waiting.", "true")
park = A("park", "bool", "Whether to sleep after a short spin instead of keeping a core busy.", "true",
         source="ours")
