"""Operations on the resources behind communications, and on memory."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Operation as Op


def _alloc(what, doc, optional, group, source):
    return Op(f"alloc_{what}", f"{what}_t", doc, (), (a.name, a.user_context) + optional,
              source=source, resource=what, group=group,
              result=f"The new object; to be freed with free_{what}.")


def _free(what, doc, group, source):
    return Op(f"free_{what}", "void", doc,
              (A(what, f"{what}_t*", "Handle of the object to free; becomes empty."),),
              (a.runtime_on_demand,), source=source, group=group)


_pool = A("packet_pool", "packet_pool_t", "The packet pool.")
_device = A("device", "device_t", "The device.")
_thread = A("progress_thread", "progress_thread_t", "The progress thread.")
_T = "Progress thread"
_mr = A("mr", "mr_t", "A registration from register_memory.", may_be_empty=True)
_alignment = A("alignment", "size_t", "Alignment of the first byte, a power of two; at least 64 is "
               "given.", "64")
_symmetric = A("symmetric", "symmetric_t", "The memory, from alloc_symmetric.")
_of_rank = A("rank", "int", "The rank whose part it is.")

OPERATIONS = (
    _alloc("net_context", "Opens a network.", (a.runtime,), "Net context", "4.2.1"),
    _free("net_context", "Closes a network, after its devices were freed.", "Net context",
          "4.2.1"),

    _alloc("device",
           "Allocates a device. Collective: the k-th device of a rank talks to the k-th device "
           "of every other rank.",
           (a.runtime, a.net_context, a.pool_if_any),
           "Device", "3.2.3"),
    _free("device", "Frees a device, after its endpoints were freed.", "Device", "3.2.3"),
    Op("progress", "error_t",
       "Makes pending communication advance: polls the device, retries what waits, signals "
       "completion objects. Inside a completion handler it does nothing and says retry.",
       (), (a.runtime, a.device, a.progress_endpoint), source="3.2.6", group="Device",
       result="`done` if anything happened, else a retry code.", direct="progress"),
    Op("test_drained", "error_t", "Asks whether all that was posted to a device has completed.",
       (), (a.runtime, a.device), group="Device", result="`done` or a retry code."),
    Op("wait_drained", "void",
       "Calls progress until all that was posted to a device has completed.",
       (), (a.runtime, a.device), group="Device"),

    Op("alloc_progress_thread", "progress_thread_t",
       "Starts a thread that makes progress on a device. What its handlers throw is kept for, and "
       "thrown by, the next progress or wait of the program on that device.",
       (), (a.runtime, a.device, a.name, a.user_context), source="3.2.6",
       resource="progress_thread", group=_T,
       result="The thread; to be freed with free_progress_thread."),
    _free("progress_thread",
          "Stops a progress thread, and waits for it. Refused inside a handler.", _T, "3.2.6"),
    Op("progress_thread_add_device", "void",
       "Makes a progress thread serve a further device. Refused inside a handler, and for a device "
       "that a progress thread serves already.", (_thread, _device), (a.runtime_on_demand,),
       source="3.2.6", group=_T),
    Op("progress_thread_remove_device", "void",
       "Makes a progress thread leave a device alone; waits until it does. free_device does so, "
       "too. Refused inside a handler.", (_thread, _device), (a.runtime_on_demand,),
       source="3.2.6", group=_T),
    _alloc("stream",
           "Allocates a stream of active messages. Targets need none of their own.", (a.runtime,),
           "Stream", "ours"),
    _free("stream",
          "Frees a stream. What was posted in it is still delivered, in order.", "Stream", "ours"),
    Op("get_counters", "counters_t",
       "Reads what a device that was allocated with `counters` has counted: messages and bytes, by "
       "kind. Thread-safe, also while others communicate; then the numbers may be of slightly "
       "different moments.",
       (), (a.runtime, a.device,
            A("rank", "int", "With which rank; ALL_RANKS: with all together.", "-1")),
       source="ours", group="Device",
       result="The numbers since the device was allocated. Throws invalid_argument_error if it does "
              "not count."),

    Op("get_histogram", "histogram_t",
       "Reads how long the operations of one kind took that were posted to a device that was allocated with "
       "`counters`, by size classes. Thread-safe, also while others communicate.",
       (A("kind", "operation_kind_t", "Which operations."),
        A("size", "size_t", "The size class that this many bytes belong to.")),
       (a.runtime, a.device), source="ours", group="Device",
       result="The times since the device was allocated. Throws invalid_argument_error if it does not count."),
    Op("get_reg_cache_stats", "reg_cache_stats_t",
       "Reads what the registration cache of a device that was allocated with `use_reg_cache` has "
       "done and holds. Thread-safe.",
       (), (a.runtime, a.device), source="ours", group="Device",
       result="The numbers. Throws invalid_argument_error if the device was allocated without."),

    _alloc("endpoint", "Allocates a further way into a device.", (a.runtime, a.device),
           "Endpoint", "4.2.1"),
    _free("endpoint", "Frees an endpoint.", "Endpoint", "4.2.1"),

    _alloc("packet_pool", "Allocates a packet pool.", (a.runtime,), "Packet pool", "4.1.2"),
    _free("packet_pool",
          "Frees a packet pool, whose packets must all have come back. Refused while a device "
          "has it: deregister it, or free the device that was allocated with it, first.",
          "Packet pool", "4.1.2"),
    Op("register_packet_pool", "void",
       "Registers a pool's memory with a device, so that the device can send its packets.",
       (_pool, _device), (a.runtime_on_demand,), source="4.1.2", group="Packet pool"),
    Op("deregister_packet_pool", "void",
       "Undoes register_packet_pool. The pool that a device was allocated with stays.",
       (_pool, _device), (a.runtime_on_demand,), source="4.1.2", group="Packet pool"),
    Op("get_upacket", "void*",
       "Takes a packet from a pool, to assemble a message in it and send it without a copy.",
       (), (a.runtime_on_demand, a.packet_pool), source="3.3.1", group="Packet pool",
       result="The packet's payload, get_max_bcopy_size bytes; null if the pool is empty."),
    Op("put_upacket", "void", "Returns a packet to its pool.",
       (A("packet", "void*", "What get_upacket gave, or a message delivered in a packet."),),
       (a.runtime,), source="3.3.1", group="Packet pool"),
    Op("get_max_bcopy_size", "size_t", "Tells how many bytes of payload fit into a packet.",
       (), (a.runtime_on_demand, a.packet_pool), source="4.3", group="Packet pool",
       result="The number of bytes."),

    _alloc("matching_engine",
           "Allocates a matching engine. Collective: all ranks do so in the same order.",
           (a.runtime,), "Matching engine", "4.1.3"),
    _free("matching_engine",
          "Frees a matching engine with the messages and receives that are still filed in it. "
          "Values of matching_engine_insert are the user's to free.",
          "Matching engine", "4.1.3"),
    Op("matching_engine_insert", "matching_entry_val_t",
       "Files a value of the user, unless one of the other type waits under the same key. Values "
       "meet values only, never messages, also where an engine is used for both.",
       (A("matching_engine", "matching_engine_t", "The matching engine."),
        A("key", "matching_entry_key_t", "The key."),
        A("value", "matching_entry_val_t", "The value; not null."),
        A("entry_type", "matching_entry_type_t", "Kind of the value.")),
       (a.runtime_on_demand,), source="4.1.3", group="Matching engine",
       result="The value of the other type, which is taken out; null if the new one was filed."),

    Op("register_memory", "mr_t",
       "Registers memory with a device. Needed for memory that others write or read; optional "
       "for local buffers.",
       (A("address", "void*", "First byte."), A("size", "size_t", "Number of bytes.")),
       (a.runtime, a.device), source="3.3.1", group="Memory",
       result="The registration; to be ended with deregister_memory."),
    Op("deregister_memory", "void", "Ends a registration; the handle becomes empty.",
       (A("mr", "mr_t*", "Handle of the registration."),), (a.runtime_on_demand,),
       source="3.3.1", group="Memory"),
    Op("get_rmr", "rmr_t",
       "Gives what other ranks need to access registered memory: plain bytes to be sent to them.",
       (_mr,), (a.runtime_on_demand,), source="3.3.1", group="Memory",
       result="The remote side's view of the registration."),
    Op("get_mr_base", "void*", "Tells where registered memory begins.", (_mr,),
       (a.runtime_on_demand,), source="ours", group="Memory", result="Address of its first byte."),
    Op("publish_memory", "publication_t",
       "Makes a registration of each rank known to all, so that find_rmr finds it by its addresses. "
       "Collective; if one rank's registration is of another device, all throw.",
       (A("mr", "mr_t", "This rank's registration; MR_HOST: it has none.", may_be_empty=True),),
       (a.runtime, a.device), source="ours", group="Memory",
       result="The publication; to be ended with unpublish_memory, before its registrations and its device."),
    Op("unpublish_memory", "void",
       "Ends a publication: find_rmr finds its registrations no more, and what it has given for them is not to "
       "be used any more; the handle becomes empty. Collective: waits until all ranks have come here.",
       (A("publication", "publication_t*", "Handle of the publication."),), (a.runtime,),
       source="ours", group="Memory"),
    Op("find_rmr", "rmr_t",
       "Looks for a published registration that holds a range of a rank's memory, without asking that rank: "
       "so a put or get needs no more than rank and address. Thread-safe.",
       (A("rank", "int", "The rank whose memory it is."),
        A("address", "const void*", "First byte, as that rank sees it."),
        A("size", "size_t", "Number of bytes.")),
       (a.runtime, a.device), source="ours", group="Memory",
       result="What gives access to that range, from offset 0 on; RMR_NULL if nothing that is published holds "
       "all of it."),
    Op("alloc_shared", "mr_t",
       "Allocates registered memory that ranks of the same host reach by load and store: puts, "
       "gets and atomics on it are plain copies there. Its contents are undefined.",
       (A("size", "size_t", "Number of bytes."),),
       (a.runtime, a.device, _alignment),
       source="ours", group="Memory",
       result="The registration; to be ended with free_shared, before its device is freed."),
    Op("free_shared", "void",
       "Frees what alloc_shared gave, when no rank uses it any more; the handle becomes empty.",
       (A("mr", "mr_t*", "Handle of the registration."),), (a.runtime_on_demand,),
       source="ours", group="Memory"),
    Op("get_shared_address", "void*",
       "Tells where shared memory of a rank is in this process. Reading and writing there needs "
       "the same care as between threads.",
       (A("rank", "int", "The rank that has allocated it."),
        A("rmr", "rmr_t", "What get_rmr gave to that rank.")),
       (a.runtime, a.device), source="ours", group="Memory",
       result="The address, valid until the owner frees the memory or this rank its net context; "
       "null if the owner runs on another host, or the memory is not from alloc_shared."),
    Op("alloc_symmetric", "symmetric_t",
       "Allocates shared memory at all ranks: each gets a part of its own, and knows how to reach "
       "those of the others. Collective; if one rank gets none, all throw.",
       (A("size", "size_t", "Number of bytes of this rank's part; other ranks' may differ, but see "
          "`equal_parts`."),),
       (a.runtime, a.device, _alignment,
        A("equal_parts", "bool",
          "Whether all ranks are to give the same size and alignment. Where calls are checked all throw if they "
          "do not; else it has no effect.", "true")), source="ours", group="Memory",
       result="The memory; to be freed with free_symmetric, before its device is freed."),
    Op("free_symmetric", "void",
       "Frees what alloc_symmetric gave; the handle becomes empty. Collective: waits for all ranks.",
       (A("symmetric", "symmetric_t*", "Handle of the memory."),), (a.runtime,),
       source="ours", group="Memory"),
    Op("get_symmetric_mr", "mr_t", "Gives the registration of this rank's part.", (_symmetric,),
       (a.runtime_on_demand,), source="ours", group="Memory", result="The registration."),
    Op("get_symmetric_rmr", "rmr_t", "Gives what is needed to access a rank's part.",
       (_symmetric, _of_rank), (a.runtime_on_demand,), source="ours", group="Memory",
       result="The remote side's view of that part."),
    Op("get_symmetric_address", "void*", "Tells where a rank's part is in this process.",
       (_symmetric, _of_rank), (a.runtime_on_demand,), source="ours", group="Memory",
       result="The address of its first byte; null if that rank runs on another host."),
)
