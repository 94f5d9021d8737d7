"""Resources and their attributes."""

from api_dsl.schema import Alias, Attribute as A, Constant, Resource

_OURS = "ours"

runtime = Resource(
    "runtime",
    "Default configuration and resources that operations fall back to. Libraries that share a "
    "process may each have their own.",
    header="lib/core/runtime/runtime.hpp",
    source="3.2.2", children=("net_context", "device", "packet_pool", "matching_engine"), published=True,
    attributes=(
        A("packet_return_threshold", "size_t",
          "Bytes written into a packet above which it goes back to the pool of the thread that "
          "sent it; packets always go back to the pool of the thread that frees them here.",
          "4096", no_effect=True),
        A("imm_nbits_tag", "int",
          "Bits of immediate data for the tag; our wire format carries full tags, so the value "
          "only determines `max_imm_tag`.", "16", minimum=1, maximum=31),
        A("imm_nbits_rcomp", "int",
          "Bits of immediate data for the remote completion handle; as `imm_nbits_tag`.", "15",
          minimum=1, maximum=31),
        A("rdv_protocol", "attr_rdv_protocol_t", "Protocol of messages too large for a packet.",
          "auto_select", source="4.3"),
        A("rdv_threshold", "size_t",
          "Messages larger than this take the rendezvous protocol; 0: what fits into a packet "
          "does not.", "0", source=_OURS),
        A("rdv_chunk_size", "size_t",
          "Largest piece into which a rendezvous transfer is cut.", "8388608", source=_OURS,
          minimum=4096),
        A("bootstrap", "std::string",
          "Where the process learns its rank from: `pmi1`, `pmi2`, `pmix`, `mpi`, `tcp`, `file` or `local` (a job "
          "of one); `none`: the runtime is a job of its own, whatever started the process, and peers "
          "outside may be connected; empty: automatic.", "", source="4.5"),
        A("bootstrap_timeout", "double",
          "Seconds to wait for the other ranks at start before giving up with an error.", "60",
          source=_OURS, minimum=0, variables=("LCT_PMI_TCP_TIMEOUT_SEC",)),
        A("max_peers", "int",
          "Peers outside of the job that may be connected at a time, see `connect`; -1: 1024 where "
          "`bootstrap` is `none`, else 0.", "-1", source=_OURS, minimum=-1, maximum=65536),
        A("accept_strangers", "bool",
          "Whether other processes of the user may connect by themselves, if `max_peers` leaves room.",
          "true", source=_OURS),
        A("trace", "std::string",
          "First part of the path of a message trace, which each rank writes to `<trace>.<rank>.json` "
          "when the runtime is freed, for Chrome's or Perfetto's viewer; empty: none.", "",
          source=_OURS, variables=("LCI_TRACE",)),
        A("trace_events", "size_t",
          "Events of the trace that are kept for each thread, 56 bytes each; beyond, the oldest are "
          "dropped and counted.", "262144", source=_OURS, minimum=16, maximum=1 << 32),
        A("max_imm_tag", "uint64_t", "Largest tag on the fast path of put with signal.", "0",
          settable=False),
        A("max_imm_rcomp", "uint64_t",
          "Largest remote completion handle on the fast path of put with signal.", "0",
          settable=False),
        A("max_tag", "uint64_t", "Largest tag.", "0", settable=False),
        A("max_rcomp", "uint64_t", "Largest remote completion handle.", "0", settable=False),
        A("check", "bool",
          "Look at each call before it is made: handles whose object was freed or is of another runtime, "
          "devices that are freed while a thread makes progress on them, collective calls that differ between "
          "ranks; and tell at the end what was not freed. For debugging: small posts take a longer way. All "
          "ranks the same.", "false", source=_OURS),
        A("alloc_default_device", "bool", "Allocate a default device with the runtime.", "true"),
        A("alloc_default_packet_pool", "bool", "Allocate a default packet pool with the runtime.",
          "true"),
        A("alloc_default_matching_engine", "bool",
          "Allocate a default matching engine with the runtime.", "true"),
        A("progress_thread", "progress_mode_t",
          "Whether and how threads of the library make progress on all devices of the runtime; "
          "none: there are no such threads.", "none", source=_OURS),
    ))

net_context = Resource(
    "net_context", "One opened network: what its devices share.",
    header="lib/core/device/net_context.hpp", source="4.2.1", published=True,
    attributes=(
        A("backend", "attr_backend_t",
          "Network to use; none: shared memory within a host, the best usable network between hosts. Read "
          "afterwards: the one between hosts, or shm if there is but one host.", "none",
          source="4.2"),
        A("ranks_per_host", "size_t",
          "Automatic backend: take so many ranks, one after the other, for those of a host; 0: find out "
          "who shares one. All ranks the same. For tests.", "0", source=_OURS),
        A("eager_addresses", "size_t",
          "Jobs over several hosts of up to so many ranks read the addresses of all ranks at start, and agree "
          "on what they can all do; ranks of larger ones read that of a peer when they first meet it, and "
          "check that it is alike.", "64", source=_OURS),
        A("ofi_provider_name", "std::string", "Provider to ask libfabric for; empty: any.", "",
          source="4.2.4"),
        A("ofi_mr_mode", "std::string",
          "ofi: register memory in ways that the provider does not ask for: `basic` (virtual addresses, "
          "keys of the provider), `local` (also what is only sent or received), or `basic,local`. For "
          "tests.", "",
          source=_OURS),
        A("ofi_cq_data", "bool",
          "ofi: send what goes beside a message as data of the provider's, if it has such; if not, "
          "behind the message.", "true", source=_OURS),
        A("ofi_rma", "bool",
          "ofi: let the provider serve puts and gets, if it can; if not, the core emulates them.",
          "true", source=_OURS),
        A("tcp_buffer_size", "size_t",
          "tcp: bytes that are gathered for a peer before posts to it say `retry` (twice that, and more between "
          "puts, while it takes none), and that are read of it at a time; at least one message.", "131072", source=_OURS, maximum=0x40000000),
        A("peer_timeout", "double",
          "ofi, ibv, tcp: seconds after which a peer counts as failed whose host does not answer any more; 0: "
          "peers are not watched. Watched are those that this rank has sent something to, or heard from.",
          "30", source=_OURS, minimum=0, maximum=86400),
        A("max_msg_size", "size_t",
          "Largest single message given to the network; larger ones are cut.", "0x7FFFFFFF",
          minimum=4096),
        A("max_inject_size", "size_t",
          "Largest message that is sent inline, without a completion; the network may lower it.",
          "64"),
        A("ibv_gid_idx", "int", "Index of the GID to use on RoCE; -1: chosen automatically.",
          "-1", minimum=-1),
        A("ibv_force_gid_auto_select", "bool",
          "Choose the GID automatically even where it is not needed.", "false"),
        A("device_name", "std::string",
          "Network card (libibverbs device, libfabric domain; tcp: interface of IP, or one of its addresses); "
          "empty: the first one.", ""),
        A("ibv_odp_strategy", "attr_ibv_odp_strategy_t", "On-demand paging of registered memory.",
          "none", source="3.3.1"),
        A("ibv_prefetch_strategy", "attr_ibv_prefetch_strategy_t",
          "Advice given for memory paged on demand.", "none"),
        A("use_dmabuf", "bool", "Register GPU memory through dma-buf.", "true"),
        A("shm_segment_size", "size_t",
          "Address space of a rank's shared segment. It is sparse: memory is used as it is "
          "touched.", "1073741824", source=_OURS, minimum=1048576),
        A("shm_lane_slots", "size_t",
          "shm: cache lines for the messages of a lane (one sending thread, one receiving device), each "
          "of which holds one or two small ones; rounded up to a power of two.", "256", source=_OURS, minimum=16, maximum=1048576),
        A("shm_lane_data_size", "size_t",
          "shm: bytes of those messages of a lane that are larger than a line; rounded up to a "
          "power of two.", "262144", source=_OURS, minimum=65536, maximum=1073741824),
        A("shared_heap_size", "size_t",
          "Address space from which alloc_shared takes memory; sparse; 0: as much as the machine "
          "has memory.", "0", source=_OURS),
        A("shm_cma", "bool",
          "shm: copy large messages directly between processes where the kernel allows it.",
          "true", source=_OURS),
        A("sim_ranks", "size_t", "sim: ranks of a world, all in this process.", "1", source=_OURS,
          minimum=1, maximum=65536),
        A("sim_seed", "uint64_t", "sim: seed of all its random decisions.", "1", source=_OURS),
        A("sim_max_delay", "size_t", "sim: polls by which an event may be delayed.", "8",
          source=_OURS),
        A("sim_retry_percent", "size_t", "sim: share of posts that are refused at first.", "10",
          source=_OURS, minimum=0, maximum=90),
        A("sim_max_poll", "size_t", "sim: events a poll hands out at most; 0: no limit.", "4",
          source=_OURS),
        A("sim_preposted_recvs", "bool", "sim: behave like a network that needs receive buffers.",
          "false", source=_OURS),
        A("sim_rma", "bool", "sim: serve put and get; if not, the core emulates them.", "true",
          source=_OURS),
        A("sim_max_inject", "size_t", "sim: largest inline send.", "64", source=_OURS),
        A("sim_max_registrations", "size_t", "sim: registrations a rank may have; 0: any number.",
          "0", source=_OURS),
        A("sim_check_mappings", "bool",
          "sim: refuse access through a registration if its memory has been unmapped since, even "
          "if other memory is mapped there. Locks registered memory.", "false", source=_OURS),
        A("sim_ranks_per_host", "size_t",
          "sim: that many ranks, one after the other, share a host's memory; 0: all.", "0",
          source=_OURS),
        A("support_putimm", "bool", "Whether the network can write with immediate data.", "false",
          settable=False),
    ))

device = Resource(
    "device",
    "A complete set of network resources. Threads on different devices do not disturb each "
    "other. Allocation is collective: the k-th device of a rank talks to the k-th of the others.",
    header="lib/core/device/device.hpp", source="3.2.3", children=("endpoint",), published=True,
    attributes=(
        A("net_max_sends", "size_t", "Sends under way per device.", "64", minimum=1, maximum=1 << 24),
        A("net_max_recvs", "size_t", "Receive buffers kept posted, where the network needs them.",
          "256", minimum=1, maximum=1 << 24),
        A("net_max_cqes", "size_t", "Entries of the network's completion queue.", "65536",
          minimum=1, maximum=1 << 24),
        A("net_send_reserved_pct", "double",
          "Fraction of the send queue kept for the library's own messages.", "0.25", minimum=0,
          maximum=1),
        A("ofi_lock_mode", "uint64_t",
          "Calls into libfabric that are guarded, as `LCI_NET_*` bits; in the environment also "
          "names: none, send, recv, poll, mr, all, endpoint, separated by commas.", "0",
          variables=("LCI_NET_LOCK_MODE",), flags="attr_net_lock_mode_t", source="4.2.2",
          maximum=47),
        A("ofi_bundle_size", "size_t",
          "Injected messages to a peer that are posted within a few microseconds of each other go "
          "together, in up to so many bytes; the first few of them at once, the others when so many are "
          "full, with the next progress() on the device, or after a millisecond or two. 0: each alone, "
          "at once.",
          "8192", source=_OURS),
        A("backlog_bytes", "size_t",
          "Bytes of messages that may wait inside the library for one peer, since the network takes no "
          "more. Beyond, posts that forbid `retry` make progress before they return; those of handlers, "
          "which can't, are always kept.", "67108864", source=_OURS),
        A("close_timeout", "double",
          "Seconds that free_device waits for peers to answer what is under way; then it ends as `cancelled` here "
          "alone.", "2", source=_OURS, minimum=0, maximum=86400),
        A("unexpected_bytes", "size_t",
          "Bytes of memory that sends of one peer may take up here which no receive has asked for. Beyond, "
          "the peer is asked to pause: its sends say `retry` until receives have taken half of it. What is "
          "already on its way still comes. Ranks that pause each other, two or a circle of more, get more. 0: no bound.",
          "67108864", source=_OURS),
        A("memory_reserve", "size_t",
          "Bytes of memory that a device must leave, of the host's and of what the process's control groups allow: "
          "else alloc_device refuses, as the system ends processes when none is left. How much a device takes is "
          "known from the first one, and looked at if it is more than 1 MiB. 0: it is not looked at.", "33554432",
          source=_OURS),
        A("alloc_default_endpoint", "bool", "Allocate a default endpoint with the device.",
          "true"),
        A("alloc_progress_endpoint", "bool",
          "Allocate a second endpoint for what is sent inside progress.", "false"),
        A("use_reg_cache", "bool",
          "Cache memory registrations: the user's and the library's own are shared, and kept for a "
          "while when they have ended. Without effect where registering costs nothing (shm).",
          "false"),
        A("reg_cache_bytes", "size_t",
          "Registrations without a user are kept up to so many bytes; beyond, those go that were "
          "used longest ago. 0: none is kept.", "1073741824", source=_OURS),
        A("reg_cache_count", "size_t",
          "As `reg_cache_bytes`, by the number of registrations.", "1024", source=_OURS),
        A("reg_cache_trust", "bool",
          "Keep registrations without watching mappings. The program promises that memory it has "
          "registered, sent from or received into stays mapped as it is.", "false", source=_OURS),
        A("shm_enable", "bool",
          "Published switch of the shared-memory path; peers of one host always use it here.",
          "true", no_effect=True),
        A("shm_ring_size", "size_t", "Size of the ring in the published shared-memory path; see "
          "`shm_lane_data_size`.", "65536", no_effect=True),
        A("shm_slot_size", "size_t", "Size of a slot in the published shared-memory path.", "128",
          no_effect=True),
        A("shm_producer_cas_attempts", "size_t",
          "Attempts of a sender in the published shared-memory path; lanes have one sender.", "4",
          no_effect=True),
        A("shm_consumer_cas_attempts", "size_t",
          "Attempts of a receiver in the published shared-memory path.", "1", no_effect=True),
        A("shm_max_polls", "size_t", "Slots drained per poll in the published shared-memory path.",
          "32", no_effect=True),
        A("ibv_td_strategy", "attr_ibv_td_strategy_t",
          "Which queue pairs share a thread domain.", "per_qp", source="4.2.3"),
        A("counters", "bool",
          "Count messages and bytes by kind and peer, and the times that operations take, for get_counters "
          "and get_histogram.", "false", source=_OURS),
        A("uid", "int", "Number of the device in its process.", "-1", settable=False),
    ))

endpoint = Resource(
    "endpoint", "A way into a device, with send resources of its own where the network has them.",
    header="lib/core/device/endpoint.hpp", source="4.2.1", published=True,
    attributes=(A("uid", "int", "Number of the endpoint in its process.", "-1", settable=False),))

packet_pool = Resource(
    "packet_pool",
    "Fixed-size buffers for messages, kept per thread and stolen when a thread runs out.",
    header="lib/core/memory/packet_pool.hpp", source="4.1.2", published=True,
    attributes=(
        A("packet_size", "size_t", "Bytes of a packet, its header included.", "8192",
          minimum=256, maximum=1 << 30),
        A("npackets", "size_t",
          "Packets of the pool. Address space only: memory is used as packets are first touched.",
          "65536", minimum=1, maximum=1 << 32),
    ))

matching_engine = Resource(
    "matching_engine", "Pairs messages with receives at the target.",
    header="lib/core/match/matching_engine.hpp", source="4.1.3", published=True,
    attributes=(
        A("matching_engine_type", "attr_matching_engine_type_t",
          "Has no effect: both values get the same hash table, which keeps posting order per key. "
          "Accepted for programs that set it.", "map"),
        A("make_key", "make_key_t",
          "Makes the key under which messages are filed; null: from rank, tag and policy.",
          "nullptr", source="3.3.2", from_env=False),
    ))

comp = Resource(
    "comp",
    "A completion object: what is told, once, that an operation has ended. Derive from "
    "`comp_impl_t` to bring your own.",
    source="3.2.5", impl="lci::comp_impl_t", header="lci/completion.hpp",
    attributes=(
        A("comp_type", "attr_comp_type_t", "Kind of the object.", "custom", settable=False),
        A("sync_threshold", "int",
          "Signals after which a synchronizer is ready. Up to 65536 signals that come before a test has "
          "asked for them are kept for later rounds; one more throws resource_error where it is "
          "signalled.", "1", source="3.2.5", minimum=1, maximum=1 << 24),
        A("zero_copy_am", "bool",
          "Active messages are delivered in packets, which the user returns with put_upacket.",
          "false", source="3.3.1"),
        A("am_in_place", "bool",
          "Active messages are delivered where they arrived: `status.buffer` is valid until the "
          "handler returns and must not be freed. For handlers and custom objects.", "false",
          source=_OURS),
        A("cq_type", "attr_cq_type_t", "Implementation of a completion queue.", "lcrq",
          source="4.1.4"),
        A("cq_default_length", "int", "Capacity of an `array_atomic` queue.", "65536",
          minimum=1, maximum=1 << 24),
    ))

progress_thread = Resource(
    "progress_thread",
    "A thread of the library that makes progress on devices. A mode that sleeps takes a thread for "
    "each of them.",
    header="lib/core/runtime/progress_thread.hpp", source="3.2.6",
    attributes=(
        A("progress_mode", "progress_mode_t",
          "What the thread does while nothing happens; not `none`.", "event", source=_OURS),
        A("progress_cpu", "int",
          "Processor that the thread is bound to, also where `progress_thread` of the runtime asks "
          "for it; -1: those of the thread that allocates.", "-1", source=_OURS, minimum=-1),
    ))

stream = Resource(
    "stream",
    "Orders active messages: those that one rank posts to another in the same stream are delivered "
    "one after the other, as they were posted, whatever their sizes and devices.",
    header="lib/core/stream/stream.hpp", source="ours",
    attributes=(
        A("window", "size_t",
          "Messages to one rank that may be on their way; beyond, posts say retry until that rank "
          "has delivered some.", "4096", source=_OURS, minimum=4, maximum=1 << 20),
        A("window_bytes", "size_t",
          "Bytes to one rank that may be on their way before posts say retry: what the target keeps "
          "for this rank at most, but for the last message.", "16777216", source=_OURS, minimum=1),
    ))

mr = Resource(
    "mr", "A registered range of local memory, bound to a device.", source="3.3.1", published=True,
    impl="lci::core::memory_region", header="lib/core/memory/memory_region.hpp")

symmetric = Resource(
    "symmetric", "Shared memory that all ranks have allocated together, a part each.",
    source="ours", impl="lci::core::symmetric", header="lib/coll/symmetric.hpp", has_attr=False)

publication = Resource(
    "publication", "Registered memory that all ranks have made known to each other together.",
    source="ours", impl="lci::core::publication", header="lib/coll/publication.hpp", has_attr=False)

ALL = (runtime, net_context, device, endpoint, packet_pool, matching_engine, comp, progress_thread,
       stream, mr, symmetric, publication)

ALIASES = (
    Alias("comp_handler_t", "void (*)(status_t status)",
          "A completion handler. Runs inside progress() or inside a post.", "3.2.5"),
    Alias("graph_node_t", "void*",
          "A node of a completion graph. Also the `user_context` of the operation that is to end it.", "3.2.5"),
    Alias("graph_node_run_cb_t", "status_t (*)(void* value)",
          "The work of a graph's node: returns done, or posted if graph_node_mark_complete() "
          "follows.", "v2"),
    Alias("graph_node_free_cb_t", "void (*)(void* value)",
          "Frees a node's value when the graph is freed.", "v2"),
    Alias("graph_edge_run_cb_t", "void (*)(status_t status, void* src_value, void* dst_value)",
          "Runs between the end of an edge's source and the start of its destination.", "v2"),
)

CONSTANTS = (
    Constant("COMP_NULL", "comp_t", 0,
             "No completion object: the post neither says posted nor retry, it returns when the "
             "operation is done.", "v2"),
    Constant("COMP_NULL_EXPECT_DONE", "comp_t", 0, "Older name of COMP_NULL.", "v2"),
    Constant("COMP_NULL_RETRY", "comp_t", 1,
             "No completion object: the post says done or retry, never posted.", "v2"),
    Constant("COMP_NULL_EXPECT_DONE_OR_RETRY", "comp_t", 1, "Older name of COMP_NULL_RETRY.",
             "v2"),
    Constant("MR_HOST", "mr_t", 0, "Host memory, not registered by the user.", "v2"),
    Constant("MR_DEVICE", "mr_t", 1,
             "GPU memory, not registered by the user; such that the processor can access it, too: "
             "the networks do.", "v2"),
    Constant("MR_UNKNOWN", "mr_t", 2, "The library finds out where the memory is.", "v2"),
    Constant("GRAPH_START", "graph_node_t", 1, "Runs before all nodes of a graph.", "v2"),
    Constant("GRAPH_END", "graph_node_t", 2, "Runs after all nodes of a graph.", "v2"),
    Constant("GRAPH_NODE_DUMMY_CB", "graph_node_run_cb_t", 0,
             "The function of a node without work, which ends as soon as what is before it has.", "v2"),
)
