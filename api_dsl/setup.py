"""Operations on runtimes, and plain functions."""

from api_dsl import arguments as a
from api_dsl.schema import Argument as A, Function, Operation as Op

_G = "Runtime"
_OURS = "ours"

device_name = A("device_name", "std::string",
                "Network card of the default net context; empty: the attribute `device_name`.", '""')


def _getter(name, returns, what):
    return Op(name, returns, f"Returns the runtime's default {what}.", (), (a.runtime,), group=_G,
              result=f"The default {what}; empty if the runtime was allocated without one.")


OPERATIONS = (
    Op("alloc_runtime", "runtime_t",
       "Allocates a runtime, with a net context and the default resources that its attributes request. Collective: "
       "all ranks do so in the same order. Throws bootstrap_error if the launcher gives no consistent ranks or some "
       "do not arrive in time, version_error if the program's headers do not fit the library.",
       (), (a.name, a.user_context, device_name), source="3.2.2", resource="runtime", group=_G,
       result="The runtime; free it with free_runtime."),
    Op("free_runtime", "void",
       "Frees a runtime and its default resources; the handle becomes empty. The program's devices must have been "
       "freed. Receives that are still posted end without a signal.",
       (A("runtime", "runtime_t*", "Handle of the runtime to free."),), source="3.2.2", group=_G),
    Op("g_runtime_init", "runtime_t",
       "Allocates the process's default runtime, which operations use if no other is named. Calls global_initialize "
       "first. If there is one already, it stays, with one warning, and the call is counted: the last of as many "
       "calls of g_runtime_fina frees it.",
       (), (a.name, a.user_context, device_name), source="3.2.2", resource="runtime", group=_G,
       result="The runtime; free it with g_runtime_fina."),
    Op("g_runtime_fina", "void",
       "Undoes a g_runtime_init; the last one frees the process's default runtime, then calls global_finalize.",
       source="3.2.2", group=_G),
    Op("get_g_runtime", "runtime_t", "Returns the process's default runtime.", group=_G,
       result="The default runtime; empty if there is none."),
    Op("get_rank_me", "int", "Returns the rank of this process. Thread-safe.", (),
       (a.runtime_on_demand,), source="3.2.2", group=_G,
       result="The rank in the given runtime, else in the default one or any other, else in the job "
              "between global_initialize and global_finalize; -1 if there is none of these."),
    Op("get_rank_n", "int", "Returns the number of ranks. Thread-safe.", (), (a.runtime_on_demand,),
       source="3.2.2", group=_G,
       result="The number of ranks in the given runtime, else in the default one or any other, else in "
              "the job between global_initialize and global_finalize; -1 if there is none of these."),
    Op("abort", "void",
       "Ends the whole job, and does not return: the launcher ends the other ranks and exits with the code; without "
       "a launcher the process exits with it. Callable by any thread, also in handlers and without a runtime. "
       "Nothing is cleaned up: destructors do not run, and output that was not flushed is lost.",
       (A("code", "int",
          "Exit code of the job. The system uses the lower 8 bits; if those are 0 although the code is not, it "
          "becomes 1."),),
       (A("message", "const char*",
          "The reason; printed to standard error together with the rank and the code.",
          '"called by the program"'),), source=_OURS, group=_G),
    Op("set_allocator", "void",
       "Sets the allocator of buffers in which active messages are delivered, except for remote completion handles "
       "with an allocator of their own. It is not called for a message of 0 bytes, which has no buffer: the status has "
       "a null pointer, which need not be freed.",
       (A("allocator", "allocator_base_t*", "The allocator; null: malloc and free."),),
       (a.runtime,), group=_G),
    Op("get_allocator", "allocator_base_t*",
       "Returns the allocator of buffers in which active messages are delivered.", (),
       (a.runtime,), group=_G, result="The allocator; without one of the program, `g_allocator_default`."),
    _getter("get_default_net_context", "net_context_t", "net context"),
    _getter("get_default_device", "device_t", "device"),
    Op("get_default_endpoint", "endpoint_t", "Returns the device's default endpoint.", (),
       (a.runtime, a.device), group=_G,
       result="The default endpoint; empty if the device was allocated without one."),
    _getter("get_default_packet_pool", "packet_pool_t", "packet pool"),
    _getter("get_default_matching_engine", "matching_engine_t", "matching engine"),
)

_P = "Process-wide functions"

FUNCTIONS = (
    Function("global_initialize", "void", (),
             "Initialises the process: reads the defaults of all attributes from the environment and determines rank "
             "and number of ranks. Allocates no runtime. Calls are counted. With the backend `sim`, whose runtimes "
             "bring ranks of their own, there are no ranks before a runtime is allocated.",
             group=_P, begins=True),
    Function("global_finalize", "void", (),
             "Undoes a global_initialize; after the last one there is no rank any more. Runtimes are not affected. "
             "An extra call does nothing.",
             group=_P),
    Function("restart_after_fork", "void", (),
             "Permits calls again in a child that fork() made of a process that uses the library; does nothing in any "
             "other process. What the parent has allocated stays the parent's: the child uses and frees none of its "
             "handles, allocates a runtime of its own with the bootstrap `none`, and closes the descriptors that it "
             "has inherited if the parent's peers are to notice the parent's end at once. No other thread of the "
             "parent may have been in a call of the library at fork().",
             group=_P),
    Function("get_g_default_attr", "global_attr_t", (),
             "Returns the process-wide defaults of all attributes. At the first call they are read from the "
             "environment, else built-in; throws option_error if a variable has an invalid value.",
             header="lci/attributes.hpp", group=_P),
    Function("set_g_default_attr", "void", (("const global_attr_t&", "attr"),),
             "Sets the process-wide defaults of all attributes, for resources that are allocated later. Thread-safe.",
             header="lci/attributes.hpp", group=_P),
    Function("get_errorcode_str", "const char*", (("errorcode_t", "code"),),
             "Returns the name of an error code, e.g. \"retry_lock\". Thread-safe.", source="3.2.5",
             header="lci/types.hpp", group=_P),
)
