// Kills the last rank while rank 0 waits for it, in the way that the argument names. The job must end with an error
// text, and no rank may hang.
#include <ccs.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int answers = 0;
void on_question(CCS_token_t token, void*, unsigned) { CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 1, 0); }
void on_answer(CCS_token_t, void*, unsigned) { ++answers; }
void on_death(CCS_token_t, void*, unsigned) { kill(getpid(), SIGKILL); }
int on_large(CCS_token_t, size_t, void**, size_t*, CCS_datadesc_t*, CCS_callback_t*, void**, unsigned, ...) {
  return CCS_AGAIN;
}

int ended = 0;
void count(void*) { ++ended; }
void until_ended() {
  while (ended == 0) CCS_poll();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  CCS_node_t rank = 0, size = 1;
  CCS_context_t context = 0;
  CCS_init();
  CCS_get_rank(&rank);
  CCS_get_size(&size);
  CCS_new_context(&context);
  CCS_register_handler(context, 0, on_question);
  CCS_register_handler(context, 1, on_answer);
  CCS_register_handler(context, 2, on_death);
  CCS_register_large_handler(context, 3, on_large);
  void* memory = nullptr;
  CCS_malloc_symmetric(1 << 20, &memory);
  CCS_datadesc_t half = CCS_DATA_NULL;
  CCS_datadesc_create_vector(1000, 8, 16, CCS_DATA8, &half);
  static char here[1 << 20], there[8000];
  static CCS_atomic_type_t word;
  CCS_barrier();
  const CCS_node_t dead = size - 1;
  if (rank != 0)
    for (;;) CCS_poll();
  CCS_amrequest(context, dead, nullptr, 0, CCS_DATA_NULL, 0, 0);
  while (answers == 0) CCS_poll();
  const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
  if (is("large")) CCS_amlarge(context, dead, here, sizeof here, CCS_DATA8, 3, count, nullptr, 0);
  CCS_amrequest(context, dead, nullptr, 0, CCS_DATA_NULL, 2, 0);
  if (is("barrier")) CCS_barrier();
  if (is("message"))
    for (;;) {
      CCS_amrequest(context, dead, here, 8000, CCS_DATA8, 0, 0);
      usleep(1000);
    }
  if (is("put")) CCS_put(dead, here, sizeof here, CCS_DATA8, memory, sizeof here, CCS_DATA8, count, nullptr);
  if (is("get")) CCS_get(dead, memory, sizeof here, CCS_DATA8, here, sizeof here, CCS_DATA8, count, nullptr);
  if (is("described")) CCS_get(dead, memory, 1, half, here, 8000, CCS_DATA8, count, nullptr);
  if (is("atomic"))
    CCS_atomic(dead, CCS_ATOMIC_FETCHADD, static_cast<CCS_atomic_type_t*>(memory), 1, 0, &word, count, nullptr);
  if (is("put described")) CCS_put(dead, here, 8000, CCS_DATA8, static_cast<char*>(memory), 1, half, count, nullptr);
  if (is("put indexed")) CCS_put_indexed(dead, here, 8, static_cast<void**>(memory), count, nullptr);
  if (is("accumulate"))
    CCS_accumulate(dead, CCS_SUM, CCS_INT64, nullptr, here, 8000, CCS_DATA8, memory, 1, half, count, nullptr);
  // A process that dies after the operation has begun may have done its part.
  for (int i = 0; i < 1000000 && is("broadcast"); ++i) CCS_bcast(here, 1, half, dead);
  for (int i = 0; i < 1000000 && is("reduce"); ++i) CCS_reduce(here, there, 1000, CCS_DOUBLE, CCS_SUM, 0);
  for (int i = 0; i < 1000000 && is("allreduce"); ++i) CCS_allreduce(here, there, 1, CCS_INT64, CCS_MAX);
  if (is("symmetric")) CCS_malloc_symmetric(1000, &memory);
  if (is("free symmetric")) CCS_free_symmetric(memory);
  if (is("finalize")) CCS_finalize();
  if (is("fence")) {
    CCS_get(dead, memory, 1, half, here, 8000, CCS_DATA8, nullptr, nullptr);
    CCS_allfence();
  } else {
    until_ended();
  }
  std::printf("not reached, or complete before the death\n");
  std::fflush(stdout);
  _exit(7);
}
