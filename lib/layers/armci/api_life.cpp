// Start, end and errors of ARMCI.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"
#include "lib/layers/armci/applier.hpp"
#include "lib/layers/armci/local_memory.hpp"

using namespace armci_layer;

namespace {

/// Calls of ARMCI_Init without one of ARMCI_Finalize.
struct life_count {
  std::mutex mutex;
  int users = 0;
};
// Destructors of the program's static objects may use it.
static_assert(std::is_trivially_destructible_v<life_count>);

life_count& life() {
  static ARMCI_CONTEXT_STORAGE life_count l;
  return l;
}

int start(const char* function) {
  return or_code(function, [] {
    life_count& l = life();
    const std::lock_guard guard(l.mutex);
    if (l.users == 0) the_context = context::make(applier::requested());
    ++l.users;
    return 0;
  });
}

/// The caller's type is int or a pointer, depending on its MPI: both come in one register, of which the plug-in reads
/// the bytes that it needs. Where MPI's names are known, so are these functions; here they are not.
int start_with(const char* function, void* comm) {
  const int failed = or_code(function, [&] {
    const communicators* const comms = find_communicators();
    if (comms == nullptr) throw error(internal_failure, "MPI is not initialised: call MPI_Init first");
    if (!comms->is_world(&comm))
      throw error(internal_failure, "comm must have all processes of MPI_COMM_WORLD, in their order");
    return 0;
  });
  return failed != 0 ? failed : start(function);
}

}  // namespace

extern "C" {

char* mp_group_name = nullptr;

int PARMCI_Init(void) { return start("ARMCI_Init"); }
ARMCI_TWIN(Init);

int PARMCI_Init_args(int*, char***) { return start("ARMCI_Init_args"); }
ARMCI_TWIN(Init_args);

int PARMCI_Init_thread(int) { return start("ARMCI_Init_thread"); }
ARMCI_TWIN(Init_thread);

__attribute__((visibility("default"))) int PARMCI_Init_thread_comm(int, void* comm) {
  return start_with("ARMCI_Init_thread_comm", comm);
}
ARMCI_TWIN(Init_thread_comm);
__attribute__((visibility("default"))) int PARMCI_Init_mpi_comm(void* comm) {
  return start_with("ARMCI_Init_mpi_comm", comm);
}
ARMCI_TWIN(Init_mpi_comm);

int PARMCI_Initialized(void) { return the_context != nullptr ? 1 : 0; }
ARMCI_TWIN(Initialized);

int PARMCI_Finalize(void) {
  return or_code("ARMCI_Finalize", [] {
    life_count& l = life();
    const std::lock_guard guard(l.mutex);
    if (l.users == 0) return 0;
    if (l.users > 1) {
      --l.users;
      return 0;
    }
    // ARMCI ends even if an operation had wrong addresses, since the other processes wait in the barrier.
    the_context->far.wait_for_all(-1);
    const std::optional<error> wrong = the_context->fence_all_before_collective();
    the_context->all.barrier(the_context->world());
    l.users = 0;
    delete std::exchange(the_context, nullptr);
    local_blocks().trim();
    if (wrong) throw *wrong;
    return 0;
  });
}
ARMCI_TWIN(Finalize);

// All memory of the layer ends with its processes.
void ARMCI_Cleanup(void) { std::fflush(nullptr); }

void ARMCI_Error(char* message, int code) {
  thread_local bool within = false;
  if (std::exchange(within, true)) std::_Exit(1);
  // Never unlocked: the first of several threads prints and sets the exit code; the others block until the process
  // ends.
  static std::mutex& once = *new std::mutex;
  once.lock();
  const char* const text = message == nullptr ? "" : message;
  const int me = the_context == nullptr ? -1 : the_context->me();
  std::printf("%d: %s %d\n", me, text, code);
  std::fflush(stdout);
  std::fprintf(stderr, "%d: %s %d\n", me, text, code);
  ARMCI_Cleanup();
  abort_job(text, code);
}

// With other results, Global Arrays would mirror arrays in each domain.
int PARMCI_Uses_shm(void) { return 0; }
ARMCI_TWIN(Uses_shm);
int ARMCI_Uses_shm_grp(ARMCI_Group*) { return 0; }
void PARMCI_Set_shm_limit(unsigned long) {}
ARMCI_TWIN(Set_shm_limit);

int dassertp_fail(const char* cond, const char* file, const char* function, unsigned line, int code) {
  std::fprintf(stderr, "\n%d: %s:%u: %s: %s (%d)\n", the_context == nullptr ? -1 : the_context->me(), file, line,
               function, cond, code);
  return 0;
}
void derr_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
}

void ARMCIX_Progress(void) { running("ARMCIX_Progress").net.progress(); }

}  // extern "C"
