"""Operations on the resources behind communications, and on memory."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op


def _alloc(what, doc, optional, group, source):
    return Op(f"alloc_{what}", f"{what}_t", doc, (), (a.name, a.user_context) + optional,
              source=source, resource=what, group=group,
              result=f"The new object; free it with free_{what}.")


def _free(what, doc, group, source):
    return Op(f"free_{what}", "void", doc,
              (A(what, f"{what}_t*", "Handle of the object to free; becomes empty."),),
              (a.runtime_on_demand,), source=source, group=group)


_pool = A("packet_pool", "packet_pool_t", "The packet pool.")
_device = A("device", "device_t", "The device.")
_thread = A("progress_thread", "progress_thread_t", "The progress thread.")
_T = "Progress thread"
_mr = A("mr", "mr_t", "A registration from register_memory or alloc_shared.", may_be_empty=True)
_alignment = A("alignment", "size_t",
               "Alignment of the first byte, a power of two; at least 64 is used, and 4096 for 64 KiB or more.", "64")
_symmetric = A("symmetric", "symmetric_t", "The memory, a result of alloc_symmetric.")
_receives = A("receives", "bool", "Whether receives that wait for a message count, too.", "true")
_of_rank = A("rank", "int", "The rank that owns the part.")

OPERATIONS = (
    _alloc("net_context", "Opens a network.", (a.runtime,), "Net context", "4.2.1"),
    _free("net_context", "Closes a network. Its devices must have been freed.", "Net context",
          "4.2.1"),

    _alloc("device",
           "Allocates a device. Collective: the k-th device of a rank communicates with the k-th device of every "
           "other rank. Throws resource_error if the system refuses, or less than `memory_reserve` bytes would be "
           "left.",
           (a.runtime, a.net_context, a.pool_if_any),
           "Device", "3.2.3"),
    _free("device", "Frees a device, whose endpoints must have been freed; no other thread may use it. Ends what is "
                    "outstanding on it, except receives without a message, which stay posted, but without their "
                    "deadlines. Waits at most `close_timeout` seconds for its peers; before that, messages that wait "
                    "to be sent are dropped, with a line on standard error, when nothing has happened for 10 "
                    "seconds.", "Device", "3.2.3"),
    Op("progress", "error_t",
       "Makes progress: polls the device, retries what waits in the backlog, signals completion objects. Throws "
       "peer_failure_error once for each failed rank, and what handlers throw. Inside a completion handler it does "
       "nothing and returns retry. Never blocks. Thread-safe.",
       (), (a.runtime, a.device, a.progress_endpoint), source="3.2.6", group="Device",
       result="`done` if anything happened, else a retry code.", direct="progress"),
    Op("test_drained", "error_t", "Tests whether everything that was posted to a device has completed. Makes no "
                                  "progress. While another thread makes progress, it may return `done` just before "
                                  "that thread signals a receive.",
       (), (a.runtime, a.device, _receives), group="Device", result="`done` or a retry code."),
    Op("wait_drained", "void",
       "Makes progress until everything that was posted to a device has completed.",
       (), (a.runtime, a.device, _receives), group="Device"),

    Op("alloc_progress_thread", "progress_thread_t",
       "Starts a thread that makes progress on a device. Exceptions of its handlers are stored; the program's next "
       "progress or wait on that device throws them.",
       (), (a.runtime, a.device, a.name, a.user_context), source="3.2.6",
       resource="progress_thread", group=_T,
       result="The thread; free it with free_progress_thread."),
    _free("progress_thread",
          "Stops a progress thread, and waits for its current round of polling. Refused inside a handler.",
          _T, "3.2.6"),
    Op("progress_thread_add_device", "void",
       "Makes a progress thread serve another device as well. Refused inside a handler, and for a device that a "
       "progress thread serves already.", (_thread, _device), (a.runtime_on_demand,),
       source="3.2.6", group=_T),
    Op("progress_thread_remove_device", "void",
       "Makes a progress thread stop serving a device; waits until it does. free_device does the same. Refused "
       "inside a handler.", (_thread, _device), (a.runtime_on_demand,),
       source="3.2.6", group=_T),
    _alloc("stream",
           "Allocates a stream of active messages. Not collective: targets need none of their own.", (a.runtime,),
           "Stream", "ours"),
    _free("stream",
          "Frees a stream. What was posted in it is still delivered, in order.", "Stream", "ours"),
    Op("get_counters", "counters_t",
       "Reads the counters of a device that was allocated with `counters`: messages and bytes, by kind. Thread-safe, "
       "also while others communicate; then the numbers may be of slightly different moments.",
       (), (a.runtime, a.device,
            A("rank", "int", "The peer; ALL_RANKS: the sum over all peers.", "-1")),
       source="ours", group="Device",
       result="The numbers since the device was allocated. Throws invalid_argument_error if the device has no "
              "counters."),

    Op("get_histogram", "histogram_t",
       "Reads the histogram of times of one kind of operation, for one size class, on a device that was allocated "
       "with `counters`. Thread-safe, also while others communicate.",
       (A("kind", "operation_kind_t", "The kind of operation."),
        A("size", "size_t", "A number of bytes, which selects the size class.")),
       (a.runtime, a.device), source="ours", group="Device",
       result="The times since the device was allocated. Throws invalid_argument_error if the device has no "
              "counters."),
    Op("get_reg_cache_stats", "reg_cache_stats_t",
       "Reads the statistics of the registration cache of a device that was allocated with `use_reg_cache`. "
       "Thread-safe.",
       (), (a.runtime, a.device), source="ours", group="Device",
       result="The numbers. Throws invalid_argument_error if the device has no cache."),

    _alloc("endpoint", "Allocates another endpoint of a device.", (a.runtime, a.device),
           "Endpoint", "4.2.1"),
    _free("endpoint", "Frees an endpoint.", "Endpoint", "4.2.1"),

    _alloc("packet_pool", "Allocates a packet pool.", (a.runtime,), "Packet pool", "4.1.2"),
    _free("packet_pool",
          "Frees a packet pool, whose packets must all have been returned. Refused while the pool is registered with "
          "a device: deregister it, or free the device that was allocated with it, first.",
          "Packet pool", "4.1.2"),
    Op("register_packet_pool", "void",
       "Registers a pool's memory with a device, so that the device can send its packets.",
       (_pool, _device), (a.runtime_on_demand,), source="4.1.2", group="Packet pool"),
    Op("deregister_packet_pool", "void",
       "Undoes register_packet_pool. Refused, where the network needs the registration, while packets of the pool are "
       "on their way: see wait_drained. The pool that a device was allocated with stays registered.",
       (_pool, _device), (a.runtime_on_demand,), source="4.1.2", group="Packet pool"),
    Op("get_upacket", "void*",
       "Takes a packet from a pool, to assemble a message in it and send it without a copy. A post that returns done "
       "or posted takes ownership of the packet. Thread-safe.",
       (), (a.runtime_on_demand, a.packet_pool), source="3.3.1", group="Packet pool",
       result="The packet's payload, get_max_bcopy_size bytes; null if the pool is empty."),
    Op("put_upacket", "void", "Returns a packet to its pool. Thread-safe.",
       (A("packet", "void*", "A result of get_upacket, or a message delivered in a packet; null: no effect."),),
       (a.runtime,), source="3.3.1", group="Packet pool"),
    Op("is_upacket", "bool",
       "Tells packets from other memory: an active message for an object with `zero_copy_am` is in a packet only where "
       "possible, and a post takes ownership of packets only. Thread-safe.",
       (A("packet", "const void*", "Any address."),), (a.runtime,), source="ours", group="Packet pool",
       result="Whether it is the payload of a packet of one of the runtime's pools."),
    Op("get_max_bcopy_size", "size_t", "Returns how many bytes of payload fit into a packet.",
       (), (a.runtime_on_demand, a.packet_pool), source="4.3", group="Packet pool",
       result="The number of bytes."),

    _alloc("matching_engine",
           "Allocates a matching engine. Collective: all ranks do so in the same order. Messages from ranks that have "
           "allocated it earlier wait for it.",
           (a.runtime,), "Matching engine", "4.1.3"),
    _free("matching_engine",
          "Frees a matching engine with the messages and receives that are still filed in it. Values of "
          "matching_engine_insert belong to the program.",
          "Matching engine", "4.1.3"),
    Op("matching_engine_insert", "matching_entry_val_t",
       "Files a value of the program's, unless one of the other type waits under the same key. Values match values "
       "only, never messages, also if an engine is used for both. Thread-safe.",
       (A("matching_engine", "matching_engine_t", "The matching engine."),
        A("key", "matching_entry_key_t", "The key."),
        A("value", "matching_entry_val_t", "The value; not null."),
        A("entry_type", "matching_entry_type_t", "Type of the value.")),
       (a.runtime_on_demand,), source="4.1.3", group="Matching engine",
       result="The matching value of the other type, which is removed; null if the new one was filed."),

    Op("register_memory", "mr_t",
       "Registers memory with a device. Required for memory that peers put to or get from; optional for local "
       "buffers. Throws resource_error if the system refuses. Thread-safe.",
       (A("address", "void*", "First byte."), A("size", "size_t", "Number of bytes.")),
       (a.runtime, a.device,
        A("read_only", "bool",
          "Whether peers may only get the memory. Puts and atomics of theirs are refused where this process executes "
          "them: over TCP, from peers outside the job on other hosts, and where the network has no remote access. "
          "Others write all the same.", "false")),
       source="3.3.1", group="Memory",
       result="The registration; end it with deregister_memory."),
    Op("deregister_memory", "void", "Ends a registration; the handle becomes empty. No peer may use the memory any "
                                    "more.",
       (A("mr", "mr_t*", "Handle of the registration."),), (a.runtime_on_demand,),
       source="3.3.1", group="Memory"),
    Op("get_rmr", "rmr_t",
       "Returns the key that other ranks need to access registered memory: plain bytes, which the program sends to "
       "them.",
       (_mr,), (a.runtime_on_demand,), source="3.3.1", group="Memory",
       result="The remote key of the registration."),
    Op("get_mr_base", "void*", "Returns the address of registered memory.", (_mr,),
       (a.runtime_on_demand,), source="ours", group="Memory", result="Address of its first byte."),
    Op("is_mr_current", "bool",
       "Tells whether a registration still is of the memory at its addresses: false if that has been unmapped since, or "
       "if other memory may have been mapped there unnoticed, because the device has no registration cache that watches "
       "mappings. Always true where registering covers addresses, not pages. For who keeps registrations of memory that "
       "the program may unmap.", (_mr,),
       (a.runtime_on_demand,), source="ours", group="Memory",
       result="Whether it is. Thread-safe; costs a system call if mappings are watched."),
    Op("publish_memory", "publication_t",
       "Publishes a registration of each rank to all ranks, so that find_rmr finds it by its addresses. Collective; "
       "if one rank's registration is of another device, all throw.",
       (A("mr", "mr_t", "This rank's registration; MR_HOST: none.", may_be_empty=True),),
       (a.runtime, a.device), source="ours", group="Memory",
       result="The publication; end it with unpublish_memory, before its registrations and its device."),
    Op("unpublish_memory", "void",
       "Ends a publication: find_rmr no longer finds its registrations, and keys that it has returned for them must "
       "not be used any more; the handle becomes empty. Collective: waits until all ranks have called it.",
       (A("publication", "publication_t*", "Handle of the publication."),), (a.runtime,),
       source="ours", group="Memory"),
    Op("find_rmr", "rmr_t",
       "Finds a published registration that contains a range of a rank's memory, without a message to that rank, so "
       "that a put or get needs only rank and address. Thread-safe.",
       (A("rank", "int", "The rank that owns the memory."),
        A("address", "const void*", "Address of the first byte at that rank."),
        A("size", "size_t", "Number of bytes.")),
       (a.runtime, a.device), source="ours", group="Memory",
       result="A key for that range, which begins at offset 0; RMR_NULL if no published registration contains all of "
              "it."),
    Op("alloc_shared", "mr_t",
       "Allocates registered memory that ranks of the same host access by load and store: puts, gets and atomics on "
       "it are plain copies there. Its contents are undefined. Throws resource_error if the system refuses.",
       (A("size", "size_t", "Number of bytes."),),
       (a.runtime, a.device, _alignment),
       source="ours", group="Memory",
       result="The registration; free it with free_shared, before its device is freed."),
    Op("free_shared", "void",
       "Frees memory of alloc_shared, which no rank may use any more; the handle becomes empty.",
       (A("mr", "mr_t*", "Handle of the registration."),), (a.runtime_on_demand,),
       source="ours", group="Memory"),
    Op("get_shared_address", "void*",
       "Returns the address of a rank's shared memory in this process. Access to it needs the same synchronisation "
       "as between threads.",
       (A("rank", "int", "The rank that has allocated the memory."),
        A("rmr", "rmr_t", "The result of get_rmr at that rank.")),
       (a.runtime, a.device), source="ours", group="Memory",
       result="The address, valid until the owner frees the memory or this rank its net context; null if the owner "
              "runs on another host, or the memory is not from alloc_shared. Usually the owner's own address, so that "
              "pointers may be shared, too; but the system may have given that to something else."),
    Op("alloc_symmetric", "symmetric_t",
       "Allocates shared memory at all ranks, a part for each, and exchanges the keys. Collective; if it fails at "
       "one rank, all throw.",
       (A("size", "size_t", "Number of bytes of this rank's part; may differ between ranks, but see `equal_parts`."),),
       (a.runtime, a.device, _alignment,
        A("equal_parts", "bool",
          "Whether all ranks must pass the same size and alignment. In the checking mode all throw if they do not; "
          "otherwise it has no effect.", "true")), source="ours", group="Memory",
       result="The memory; free it with free_symmetric, before its device is freed."),
    Op("free_symmetric", "void",
       "Frees memory of alloc_symmetric; the handle becomes empty. Collective: waits for all ranks. If a rank fails "
       "meanwhile, it throws, and the memory is freed with its device, as other ranks may still access it.",
       (A("symmetric", "symmetric_t*", "Handle of the memory."),), (a.runtime,),
       source="ours", group="Memory"),
    Op("get_symmetric_mr", "mr_t", "Returns the registration of this rank's part.", (_symmetric,),
       (a.runtime_on_demand,), source="ours", group="Memory", result="The registration."),
    Op("get_symmetric_rmr", "rmr_t", "Returns the key to access a rank's part.",
       (_symmetric, _of_rank), (a.runtime_on_demand,), source="ours", group="Memory",
       result="The remote key of that part."),
    Op("get_symmetric_address", "void*", "Returns the address of a rank's part in this process.",
       (_symmetric, _of_rank), (a.runtime_on_demand,), source="ours", group="Memory",
       result="The address of its first byte; null if that rank runs on another host."),
)
