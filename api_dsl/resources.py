"""Resources and their attributes."""

from api_dsl.schema import Alias, Attribute as A, Constant, Resource

_OURS = "ours"

runtime = Resource(
    "runtime",
    "Default configuration and resources that operations fall back to. Several runtimes of a process are "
    "independent, so each library in it may have its own.",
    header="lib/core/runtime/runtime.hpp",
    source="3.2.2", children=("net_context", "device", "packet_pool", "matching_engine"), published=True,
    attributes=(
        A("packet_return_threshold", "size_t",
          "Published meaning: bytes written into a packet above which it returns to the free list of the thread that "
          "sent it. Here each packet returns to the free list of the thread that frees it.",
          "4096", no_effect=True),
        A("imm_nbits_tag", "int",
          "Bits of immediate data for the tag, together with `imm_nbits_rcomp` at most 31. The wire format here has full "
          "tags, so the value only determines `max_imm_tag`.", "16", minimum=1, maximum=31),
        A("imm_nbits_rcomp", "int",
          "Bits of immediate data for the remote completion handle; as `imm_nbits_tag`.", "15",
          minimum=1, maximum=31),
        A("rdv_protocol", "attr_rdv_protocol_t", "Protocol of messages too large for a packet. One that is named is taken, and no faster one is looked for.",
          "auto_select", source="4.3"),
        A("rdv_threshold", "size_t",
          "Messages of more bytes than this use the rendezvous protocol; 0: those that do not fit into a packet, over "
          "TCP into two. In shared memory, messages above a packet and up to 128 KiB then use the protocol that is "
          "measured to be faster.",
          "0", source=_OURS),
        A("rdv_chunk_size", "size_t",
          "Largest piece of a rendezvous transfer, in bytes.", "8388608", source=_OURS,
          minimum=4096),
        A("copy_way", "attr_copy_way_t",
          "How puts and gets of more than 16 KiB are copied that are repeated between the same two places, in remote "
          "memory that the process has mapped. For the whole process: the runtime that was allocated last decides.",
          "auto_select",
          source=_OURS),
        A("malloc_mmap_threshold", "size_t",
          "From the first message of more than 2 KiB that the program gets in memory of malloc, blocks of up to this "
          "many bytes stay with the process when they are freed, and so does free memory up to twice as much: "
          "otherwise each page of such a message faults anew. For the whole process, at most 32 MiB. Only for glibc's malloc, and not if the program or its "
          "environment has set malloc's thresholds. 0: malloc stays as it is.", "33488896", source=_OURS),
        A("bootstrap", "std::string",
          "Where the process gets its rank from: `pmi1`, `pmi2`, `pmix`, `mpi`, `tcp`, `file` or `local` (a job of "
          "one); `none`: the runtime is a job of its own, whatever started the process, and peers outside of it may "
          "connect; empty: automatic.", "", source="4.5"),
        A("bootstrap_timeout", "double",
          "Seconds to wait for the other ranks in an exchange before bootstrap_error is thrown; 0: for ever.", "60",
          source=_OURS, minimum=0, variables=("LCT_PMI_TCP_TIMEOUT_SEC",)),
        A("max_peers", "int",
          "Peers outside of the job that may be connected at the same time, see `connect`; -1: 1024 if `bootstrap` "
          "is `none`, else 0.", "-1", source=_OURS, minimum=-1, maximum=65536),
        A("accept_external_peers", "bool",
          "Whether peers outside of the job may connect to this runtime, if `max_peers` leaves room.",
          "true", source=_OURS),
        A("trace", "std::string",
          "Prefix of the path of a message trace, which each rank writes to `<trace>.<rank>.json` when the runtime "
          "is freed, for Chrome's or Perfetto's viewer; empty: no trace.", "",
          source=_OURS, variables=("LCI_TRACE",)),
        A("trace_events", "size_t",
          "Trace events stored for each thread, 56 bytes each; beyond that, the oldest are dropped and counted.",
          "262144", source=_OURS, minimum=16, maximum=1 << 32),
        A("max_imm_tag", "uint64_t", "The largest tag with `imm_nbits_tag` bits. Larger ones are as fast here.", "0",
          settable=False),
        A("max_imm_rcomp", "uint64_t",
          "The largest remote completion handle with `imm_nbits_rcomp` bits. Larger ones are as fast here.", "0",
          settable=False),
        A("max_tag", "uint64_t", "Largest tag.", "0", settable=False),
        A("max_rcomp", "uint64_t", "Largest remote completion handle.", "0", settable=False),
        A("check", "bool",
          "Checking mode, for debugging. Inspects each call before it is made: handles whose object was freed or "
          "belongs to another runtime, devices that are freed while a thread makes progress on them, collective "
          "calls that differ between ranks; reports at the end what was not freed. Small posts take the general "
          "path. All ranks the same.", "false", source=_OURS),
        A("alloc_default_device", "bool", "Allocate a default device with the runtime.", "true"),
        A("alloc_default_packet_pool", "bool", "Allocate a default packet pool with the runtime.",
          "true"),
        A("alloc_default_matching_engine", "bool",
          "Allocate a default matching engine with the runtime.", "true"),
        A("progress_thread", "progress_mode_t",
          "Whether and how progress threads of the library serve all devices of the runtime; none: there are no such "
          "threads.", "none", source=_OURS),
    ))

net_context = Resource(
    "net_context", "An opened network, shared by its devices.",
    header="lib/core/device/net_context.hpp", source="4.2.1", published=True,
    attributes=(
        A("backend", "attr_backend_t",
          "Network to use; none: shared memory within a host, the best usable network between hosts. Read back: the "
          "one between hosts, or shm if there is only one host.", "none",
          source="4.2"),
        A("ranks_per_host", "size_t",
          "For tests, automatic backend: treat that many consecutive ranks as one host, also for shared memory; 0: "
          "detect hosts. All ranks the same.", "0", source=_OURS),
        A("eager_addresses", "size_t",
          "Jobs over several hosts of up to this many ranks read the addresses of all ranks at start, and agree on "
          "what all support. Ranks of larger jobs read a peer's address when they first exchange something with it, "
          "and check that it is compatible.", "64", source=_OURS),
        A("ofi_provider_name", "std::string", "libfabric provider to use; empty: chosen automatically.", "",
          source="4.2.4"),
        A("ofi_mr_mode", "std::string",
          "For tests, ofi: register memory in ways that the provider does not require: `basic` (virtual addresses, "
          "keys of the provider), `local` (also memory that is only sent or received), or `basic,local`.", "",
          source=_OURS),
        A("ofi_cq_data", "bool",
          "ofi: send a message's metadata as the provider's remote CQ data, if it supports that; otherwise append it "
          "to the message.", "true", source=_OURS),
        A("ofi_rma", "bool",
          "ofi: use the provider's puts and gets, if it has them; otherwise the core emulates them.",
          "true", source=_OURS),
        A("tcp_buffer_size", "size_t",
          "tcp: bytes that are collected for a peer before posts to it return `retry` (twice that, and more between "
          "puts, while the peer accepts none), and bytes read from it at a time; at least one message.",
          "131072", source=_OURS, maximum=0x40000000),
        A("peer_timeout", "double",
          "ofi, ibv, tcp: seconds after which a peer whose host does not answer any more counts as failed; 0: peers "
          "are not watched. Watched are peers that this rank has exchanged something with.",
          "30", source=_OURS, minimum=0, maximum=86400),
        A("peer_listen", "std::string",
          "Where peers outside of the job can reach this runtime, beside shared memory: `tcp://HOST:PORT`, or "
          "`ofi+PROVIDER://HOST:PORT` for libfabric's provider of that name, or several of them separated by commas. "
          "HOST is an address of this host in digits (IPv6 in brackets) or a "
          "name; 0.0.0.0 and [::] are all addresses. PORT 0: a free one, see `get_address`. Empty: not at all.", "",
          source=_OURS),
        A("peer_auth", "std::string",
          "How peers outside of the job prove over TCP and libfabric who they are, both to each other and before "
          "anything else: "
          "`secret`: by the key in `peer_key_file` (HMAC-SHA256 over fresh random bytes of both; needs libcrypto); "
          "`munge`: by the munged of each host, which says whose process the peer is (needs libmunge), see `peer_users`; "
          "`none`: not at all, any process that can connect may; empty: by the key if there is one, else not at all, "
          "but then only the loopback is used.", "", source=_OURS),
        A("peer_key_file", "std::string",
          "Path of a file of 16 to 4096 bytes that only its owner may read, with the same content at all peers; see "
          "`peer_auth`. With `munge`: the socket of munged, if it is not the usual one.", "", source=_OURS),
        A("peer_users", "std::string",
          "With `munge`: the users whose processes may connect, or may be connected to, beside this process's own: "
          "names or numbers separated by commas, or groups with % in front, as in `alice,1001,%hpc`. A process belongs "
          "to its effective group only. Both sides must allow each other. Who is named may do all that processes of this "
          "user may. Empty: this process's user only.", "",
          source=_OURS),
        A("max_msg_size", "size_t",
          "Largest single message given to the network, in bytes; larger ones are sent in pieces.", "0x7FFFFFFF",
          minimum=4096),
        A("max_inject_size", "size_t",
          "Largest message that is sent inline, without a completion, in bytes; the network may lower it.",
          "64"),
        A("ibv_gid_idx", "int", "Index of the GID to use on RoCE; -1: chosen automatically.",
          "-1", minimum=-1),
        A("ibv_force_gid_auto_select", "bool",
          "Choose the GID automatically even if the port does not need one.", "false"),
        A("device_name", "std::string",
          "Network card (libibverbs device, libfabric domain; tcp: IP interface, or one of its addresses); empty: "
          "the first one.", ""),
        A("ibv_odp_strategy", "attr_ibv_odp_strategy_t", "On-demand paging of registered memory.",
          "none", source="3.3.1"),
        A("ibv_prefetch_strategy", "attr_ibv_prefetch_strategy_t",
          "Advice given for memory paged on demand.", "none"),
        A("use_dmabuf", "bool", "Register GPU memory through dma-buf.", "true"),
        A("shm_segment_size", "size_t",
          "shm: address space of a rank's shared segment, in bytes. It is sparse: memory is used as it is touched. "
          "Smaller where `ulimit -v` or `ulimit -f` would not let a process map those of all ranks of its host.",
          "1073741824", source=_OURS, minimum=1048576),
        A("shm_lane_slots", "size_t",
          "shm: cache lines for the messages of a lane (one sending thread, one receiving device), each of which "
          "holds one or two small ones; rounded up to a power of two.",
          "256", source=_OURS, minimum=16, maximum=1048576),
        A("shm_lane_data_size", "size_t",
          "shm: bytes for those messages of a lane that are larger than a cache line; rounded up to a power of two.",
          "262144", source=_OURS, minimum=65536, maximum=1073741824),
        A("shared_heap_size", "size_t",
          "Address space from which alloc_shared takes memory, in bytes; sparse; 0: as much as the machine has "
          "memory, or as `ulimit -v` and `ulimit -f` allow for all ranks of a host.", "0", source=_OURS),
        A("shm_cma", "bool",
          "shm: copy large messages directly between processes (cross-memory attach) if the kernel allows it.",
          "true", source=_OURS),
        A("shm_write_lines", "attr_choice_t",
          "shm: whether a receiver writes to each cache line of a lane's ring that it has read, so that the sender does "
          "not wait for the receiver's copy of the line when it writes there again. For messages of more than 168 bytes.",
          "auto_select", source=_OURS),
        A("shm_prefetch_lines", "attr_choice_t",
          "shm: whether a sender, after each message of more than 168 bytes, prefetches the cache lines of the lane's "
          "ring for a next message of the same size. While it streams without waiting for answers, it does so unless "
          "this is `never`.",
          "auto_select", source=_OURS),
        A("shm_long_pauses", "attr_choice_t",
          "shm: whether a receiver that has read all messages of a stream waits 600 ns before it looks for the next "
          "ones, so that it does not take the cache lines from the sender that the sender is about to write. For messages "
          "of more than 168 bytes.",
          "auto_select", source=_OURS),
        A("sim_ranks", "size_t", "sim: number of ranks of a simulated job, all in this process.", "1", source=_OURS,
          minimum=1, maximum=65536),
        A("sim_seed", "uint64_t", "sim: seed of all its random decisions.", "1", source=_OURS),
        A("sim_max_delay", "size_t", "sim: largest delay of an event, in polls.", "8",
          source=_OURS),
        A("sim_retry_percent", "size_t", "sim: percentage of posts that are refused at first.", "10",
          source=_OURS, minimum=0, maximum=90),
        A("sim_max_poll", "size_t", "sim: largest number of events of a poll; 0: no limit.", "4",
          source=_OURS),
        A("sim_preposted_recvs", "bool", "sim: behave like a network that needs posted receive buffers.",
          "false", source=_OURS),
        A("sim_rma", "bool", "sim: serve put and get; if not, the core emulates them.", "true",
          source=_OURS),
        A("sim_max_inject", "size_t", "sim: largest inline send, in bytes.", "64", source=_OURS),
        A("sim_max_registrations", "size_t", "sim: largest number of registrations of a rank; 0: no limit.",
          "0", source=_OURS),
        A("sim_check_mappings", "bool",
          "sim: refuse access through a registration if its memory has been unmapped since, even if other memory is "
          "mapped there. Locks registered memory.", "false", source=_OURS),
        A("sim_ranks_per_host", "size_t",
          "sim: that many consecutive ranks share a host's memory; 0: all.", "0",
          source=_OURS),
        A("support_putimm", "bool", "Whether the network can write with immediate data.", "false",
          settable=False),
    ))

device = Resource(
    "device",
    "A complete set of network resources. Threads on different devices do not contend. Any thread may use any "
    "device. Allocation is collective: the k-th device of a rank communicates with the k-th of the others.",
    header="lib/core/device/device.hpp", source="3.2.3", children=("endpoint",), published=True,
    attributes=(
        A("net_max_sends", "size_t", "Largest number of outstanding sends of a device.",
                                     "64", minimum=1, maximum=1 << 24),
        A("net_max_recvs", "size_t", "Number of receive buffers that the device keeps posted, if the network needs "
                                     "them.",
          "256", minimum=1, maximum=1 << 24),
        A("net_max_cqes", "size_t", "Number of entries of the network's completion queue.", "65536",
          minimum=1, maximum=1 << 24),
        A("net_send_reserved_pct", "double",
          "Fraction of the send queue reserved for the library's own messages.", "0.25", minimum=0,
          maximum=1),
        A("ofi_lock_mode", "uint64_t",
          "Calls into libfabric that LCI guards with locks, as `LCI_NET_*` bits; in the environment also names: "
          "none, send, recv, poll, mr, all, endpoint, separated by commas. The default is `endpoint`.", "32",
          variables=("LCI_NET_LOCK_MODE",), flags="attr_net_lock_mode_t", source="4.2.2",
          maximum=47),
        A("ofi_bundle_size", "size_t",
          "ofi: size in bytes of a bundle. Injected messages to a peer that are posted within a few microseconds of "
          "each other are sent together: the first few at once, the others when a bundle is full, with the next "
          "progress() on the device, or after a millisecond or two. 0: each message alone, at once.",
          "8192", source=_OURS),
        A("backlog_bytes", "size_t",
          "Bytes of messages that may wait in the backlog for one peer, because the network takes no more. Beyond "
          "that, posts that forbid `retry` make progress before they return; those of handlers, which can't, are "
          "always queued.", "67108864", source=_OURS),
        A("close_timeout", "double",
          "Seconds that free_device waits for peers to answer outstanding operations; then these end as `cancelled` "
          "here alone.", "2", source=_OURS, minimum=0, maximum=86400),
        A("unexpected_bytes", "size_t",
          "Bytes of memory for unexpected sends (without a matching receive) of one peer. Beyond that, the peer is "
          "asked to pause: its sends return `retry` until receives have consumed half of it. Messages in flight "
          "still arrive. Ranks that pause each other, two or a longer circle, get more. 0: no bound.",
          "67108864", source=_OURS),
        A("memory_reserve", "size_t",
          "Bytes of the host's memory, and of what the process's control groups allow, that a device must leave "
          "free: otherwise alloc_device throws resource_error, since the system kills processes when no memory is "
          "left. The size of a device is known from the first one, and checked if it is more than 1 MiB. 0: not "
          "checked.", "33554432",
          source=_OURS),
        A("alloc_default_endpoint", "bool", "Allocate a default endpoint with the device.",
          "true"),
        A("alloc_progress_endpoint", "bool",
          "Allocate a second endpoint for messages that are sent inside progress.", "false"),
        A("use_reg_cache", "bool",
          "Cache memory registrations: the program's and the library's own are shared, and kept for a while after "
          "their end. No effect if registering costs nothing (shm).",
          "false"),
        A("reg_cache_bytes", "size_t",
          "Bytes of unused registrations that are kept; beyond that, the least recently used are ended. 0: none is "
          "kept.", "1073741824", source=_OURS),
        A("reg_cache_count", "size_t",
          "Number of unused registrations that are kept; as `reg_cache_bytes`.", "1024", source=_OURS),
        A("reg_cache_trust", "bool",
          "Keep registrations without watching mappings. The program guarantees that memory it has registered, sent "
          "from or received into stays mapped as it is.", "false", source=_OURS),
        A("shm_enable", "bool",
          "Switch of the shared-memory path in LCI v2; here peers of one host always use it.",
          "true", no_effect=True),
        A("shm_ring_size", "size_t", "Size of the ring in LCI v2's shared-memory path; see `shm_lane_data_size`.",
                                     "65536", no_effect=True),
        A("shm_slot_size", "size_t", "Size of a slot in LCI v2's shared-memory path.", "128",
          no_effect=True),
        A("shm_producer_cas_attempts", "size_t",
          "Attempts of a sender in LCI v2's shared-memory path; lanes have one sender.", "4",
          no_effect=True),
        A("shm_consumer_cas_attempts", "size_t",
          "Attempts of a receiver in LCI v2's shared-memory path.", "1", no_effect=True),
        A("shm_max_polls", "size_t", "Slots drained per poll in LCI v2's shared-memory path.",
          "32", no_effect=True),
        A("ibv_td_strategy", "attr_ibv_td_strategy_t",
          "Which queue pairs share a thread domain.", "per_qp", source="4.2.3"),
        A("counters", "bool",
          "Count messages and bytes by kind and peer, and measure the times of operations, for get_counters and "
          "get_histogram.", "false", source=_OURS),
        A("ordered_puts", "bool",
          "Whether puts through the device may be `ordered`. False for networks that don't keep puts in order, and for "
          "those without puts, for which the core sends messages.", "false", source=_OURS, settable=False),
        A("uid", "int", "Number of the device in its runtime, from 0; the same in all ranks.", "-1", settable=False),
    ))

endpoint = Resource(
    "endpoint", "A handle for posting to a device, with send resources of its own if the network has them.",
    header="lib/core/device/endpoint.hpp", source="4.2.1", published=True,
    attributes=(A("uid", "int", "Number of the endpoint in its process.", "-1", settable=False),))

packet_pool = Resource(
    "packet_pool",
    "Fixed-size buffers for messages, held per thread; a thread that runs out steals from another.",
    header="lib/core/memory/packet_pool.hpp", source="4.1.2", published=True,
    attributes=(
        A("packet_size", "size_t", "Size of a packet in bytes, its header of 64 included.", "8256",
          minimum=256, maximum=1 << 30),
        A("npackets", "size_t",
          "Number of packets of the pool. Address space only: memory is used as packets are first touched.",
          "65536", minimum=1, maximum=1 << 32),
    ))

matching_engine = Resource(
    "matching_engine", "Matches sends with receives at the target.",
    header="lib/core/match/matching_engine.hpp", source="4.1.3", published=True,
    attributes=(
        A("matching_engine_type", "attr_matching_engine_type_t",
          "Has no effect: both values select the same hash table, which keeps posting order per key. Accepted for "
          "programs that set it.", "map"),
        A("make_key", "make_key_t",
          "Function that computes a message's matching key; null: from rank, tag and policy.",
          "nullptr", source="3.3.2", from_env=False),
    ))

comp = Resource(
    "comp",
    "A completion object: signalled once when an operation completes. Derive from `comp_impl_t` to write your own.",
    source="3.2.5", impl="lci::comp_impl_t", header="lci/completion.hpp", published=True,
    attributes=(
        A("comp_type", "attr_comp_type_t", "Kind of the object.", "custom", settable=False),
        A("sync_threshold", "int",
          "Signals after which a synchronizer is ready. Up to 65536 signals that arrive before a test has consumed "
          "them are stored for later rounds; one more throws resource_error where it is signalled.",
          "1", source="3.2.5", minimum=1, maximum=1 << 24),
        A("zero_copy_am", "bool",
          "Active messages are delivered in packets where possible, which the program returns with put_upacket.",
          "false", source="3.3.1"),
        A("am_in_place", "bool",
          "Active messages are delivered where they arrived: `status.buffer` is valid until the "
          "handler returns and must not be freed. For handlers and custom objects.", "false",
          source=_OURS),
        A("cq_type", "attr_cq_type_t", "Implementation of a completion queue.", "lcrq",
          source="4.1.4"),
        A("cq_default_length", "int", "Number of entries of an `array_atomic` queue.", "65536",
          minimum=1, maximum=1 << 24),
    ))

progress_thread = Resource(
    "progress_thread",
    "A thread of the library that makes progress on devices. A mode that sleeps uses one system thread for each "
    "device.",
    header="lib/core/runtime/progress_thread.hpp", source="3.2.6",
    attributes=(
        A("progress_mode", "progress_mode_t",
          "What the thread does while nothing happens; not `none`.", "event", source=_OURS),
        A("progress_cpu", "int",
          "Processor that the thread is bound to, also for threads of the runtime's `progress_thread`; -1: the "
          "processors of the allocating thread.", "-1", source=_OURS, minimum=-1),
    ))

stream = Resource(
    "stream",
    "Orders active messages: those that one rank posts to another in the same stream are delivered one after the "
    "other in posting order, whatever their sizes and devices.",
    header="lib/core/stream/stream.hpp", source="ours",
    attributes=(
        A("window", "size_t",
          "Messages that may be in flight to one rank; beyond that, posts return retry until that rank has delivered "
          "some.", "4096", source=_OURS, minimum=4, maximum=1 << 20),
        A("window_bytes", "size_t",
          "Bytes that may be in flight to one rank before posts return retry. The target stores at most this for the "
          "rank, plus the last message.", "16777216", source=_OURS, minimum=1),
    ))

mr = Resource(
    "mr", "A registered range of local memory, bound to a device.", source="3.3.1", published=True,
    impl="lci::core::memory_region", header="lib/core/memory/memory_region.hpp")

symmetric = Resource(
    "symmetric", "Shared memory that all ranks have allocated collectively, a part each.",
    source="ours", impl="lci::core::symmetric", header="lib/coll/symmetric.hpp", has_attr=False)

publication = Resource(
    "publication", "Registrations that all ranks have published to each other collectively.",
    source="ours", impl="lci::core::publication", header="lib/coll/publication.hpp", has_attr=False)

ALL = (runtime, net_context, device, endpoint, packet_pool, matching_engine, comp, progress_thread,
       stream, mr, symmetric, publication)

ALIASES = (
    Alias("comp_handler_t", "void (*)(status_t status)",
          "A completion handler. Runs inside progress() or inside a post.", "3.2.5"),
    Alias("am_handler_t", "void (*)(void* context, int rank, const void* data, size_t size, tag_t tag)",
          "Handles an active message, or a signal, whose address is `data`. `context` is the object's `user_context`. "
          "Runs inside progress() or inside a post; `data` is valid until the function returns.", "ours"),
    Alias("graph_node_t", "void*",
          "A node of a completion graph. Also the `user_context` of the operation that ends it.", "3.2.5"),
    Alias("graph_node_run_cb_t", "status_t (*)(void* value)",
          "The function of a graph's node: returns done, retry to be called again, or posted if "
          "graph_node_mark_complete() follows.", "v2"),
    Alias("graph_node_free_cb_t", "void (*)(void* value)",
          "Frees a node's value when the graph is freed.", "v2"),
    Alias("graph_edge_run_cb_t", "void (*)(status_t status, void* src_value, void* dst_value)",
          "Runs between the end of an edge's source and the start of its destination.", "v2"),
)

CONSTANTS = (
    Constant("COMP_NULL", "comp_t", 0,
             "No completion object: the post returns neither posted nor retry; it blocks until the operation is "
             "done.", "v2"),
    Constant("COMP_NULL_EXPECT_DONE", "comp_t", 0, "Older name of COMP_NULL.", "v2"),
    Constant("COMP_NULL_RETRY", "comp_t", 1,
             "No completion object: the post returns done or retry, never posted.", "v2"),
    Constant("COMP_NULL_EXPECT_DONE_OR_RETRY", "comp_t", 1, "Older name of COMP_NULL_RETRY.",
             "v2"),
    Constant("MR_HOST", "mr_t", 0, "Host memory, not registered by the program.", "v2"),
    Constant("MR_DEVICE", "mr_t", 1,
             "GPU memory, not registered by the program. The processor must be able to access it, too, since the "
             "networks do.", "v2"),
    Constant("MR_UNKNOWN", "mr_t", 2, "The library determines the kind of memory.", "v2"),
    Constant("GRAPH_START", "graph_node_t", 1, "Runs before all nodes of a graph.", "v2"),
    Constant("GRAPH_END", "graph_node_t", 2, "Runs after all nodes of a graph.", "v2"),
    Constant("GRAPH_NODE_DUMMY_CB", "graph_node_run_cb_t", 0,
             "The function of a node without work, which ends as soon as all nodes before it have ended.", "v2"),
)
