// Misuses CCS in the way that the first argument names. test_misuse.py checks the error. For errors that return
// CCS_FAILURE, the program prints "refused" and exits with 0. A call that would deadlock with itself must end the job.
#include <ccs.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

CCS_context_t context = 0;
char bytes[32];
void empty_handler(CCS_token_t, void*, unsigned) {}
void poll_forever() {
  for (;;) CCS_poll();
}
/// Sends a message to this process whose handler calls the function.
std::function<int()> in_handler;
void runs(CCS_token_t, void*, unsigned) { std::_Exit(in_handler()); }
int handle(std::function<int()> what) {
  in_handler = std::move(what);
  CCS_register_handler(context, 3, runs);
  CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 3, 0);
  poll_forever();
  return 0;
}
CCS_datadesc_t made() {
  CCS_datadesc_t d = CCS_DATA_NULL;
  CCS_datadesc_create_vector(2, 1, 8, CCS_DATA32, &d);
  return d;
}
CCS_lock_t lock = CCS_LOCK_INITIALIZER;
void keeps_a_lock(CCS_token_t, void*, unsigned) { CCS_lock(&lock); }
void stays_in_a_section(void*) { CCS_nointerrupt_begin(); }
void throws(CCS_token_t, void*, unsigned) { throw std::runtime_error("too hot"); }
int throws_for_large(CCS_token_t, size_t, void**, size_t*, CCS_datadesc_t*, CCS_callback_t*, void**, unsigned, ...) {
  throw std::runtime_error("too large");
}
void throws_a_number(void*) { throw 7; }
/// Delays its message for longer than CCS_finalize() waits in silence, then refuses it.
int delays_for_long(CCS_token_t, size_t, void**, size_t*, CCS_datadesc_t*, CCS_callback_t*, void**, unsigned, ...) {
  static const auto begun = std::chrono::steady_clock::now();
  return std::chrono::steady_clock::now() - begun < std::chrono::seconds(7) ? CCS_AGAIN : CCS_FAILURE;
}

const std::map<std::string, std::function<int()>> cases = {
    {"context", [] { return CCS_amrequest(7, 0, nullptr, 0, CCS_DATA_NULL, 0, 0); }},
    {"node", [] { return CCS_amrequest(context, 1, nullptr, 0, CCS_DATA_NULL, 0, 0); }},
    {"handler id", [] { return CCS_register_handler(context, 256, empty_handler); }},
    {"handler context", [] { return CCS_register_handler(9, 0, empty_handler); }},
    {"handler null", [] { return CCS_register_vhandler(context, 0, nullptr); }},
    {"arguments of a handler",
     [] { return CCS_register_spread_handler(context, 0, reinterpret_cast<void (*)()>(empty_handler), -2); }},
    {"too many arguments", [] { return CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 0, 17); }},
    {"null buffer", [] { return CCS_amrequest(context, 0, nullptr, 1, CCS_DATA8, 0, 0); }},
    {"too long", [] { return CCS_amrequest(context, 0, bytes, 16385, CCS_DATA8, 0, 0); }},
    {"bad description", [] { return CCS_amrequest(context, 0, bytes, 1, 0x123456789, 0, 0); }},
    {"sender outside",
     [] {
       CCS_node_t n;
       return CCS_sender_rank(reinterpret_cast<CCS_token_t>(bytes), &n);
     }},
    {"reply outside", [] { return CCS_amreply(nullptr, nullptr, 0, CCS_DATA_NULL, 0, 0); }},
    {"sizes differ", [] { return CCS_put(0, bytes, 8, CCS_DATA8, bytes + 16, 4, CCS_DATA8, nullptr, nullptr); }},
    {"put unregistered", [] { return CCS_put(0, bytes, 8, CCS_DATA8, bytes + 16, 8, CCS_DATA8, nullptr, nullptr); }},
    {"deregister unregistered", [] { return CCS_deregister_mem(bytes, 8); }},
    {"atomic result", [] { return CCS_atomic(0, CCS_ATOMIC_READ, nullptr, 0, 0, nullptr, nullptr, nullptr); }},
    {"null indexed", [] { return CCS_put_indexed(0, bytes, 8, nullptr, nullptr, nullptr); }},
    {"null memory", [] { return CCS_register_mem(nullptr, 8); }},
    {"unlock free", [] { return CCS_unlock(&lock); }},
    {"end no section", [] { return CCS_nointerrupt_end(); }},
    {"numbers of a reduction", [] { return CCS_allreduce(bytes, bytes, SIZE_MAX / 8, CCS_DOUBLE, CCS_SUM); }},
    {"numbers of a reduction to one",
     [] { return CCS_reduce(bytes, bytes, SIZE_MAX, CCS_DOUBLE_COMPLEX, CCS_SUM, 0); }},
    {"root", [] { return CCS_bcast(bytes, 8, CCS_DATA8, 1); }},
    {"root of a reduction", [] { return CCS_reduce(bytes, bytes, 1, CCS_INT64, CCS_SUM, 2); }},
    {"combine", [] { return CCS_allreduce(bytes, bytes, 1, CCS_DOUBLE, CCS_XOR); }},
    {"strided levels",
     [] {
       CCS_datadesc_t d;
       return CCS_datadesc_create_strided(-1, nullptr, nullptr, &d);
     }},
    {"strided counts",
     [] {
       CCS_datadesc_t d;
       return CCS_datadesc_create_strided(1, nullptr, nullptr, &d);
     }},
    {"strided strides",
     [] {
       CCS_datadesc_t d;
       const int counts[2] = {1, 1};
       return CCS_datadesc_create_strided(1, nullptr, counts, &d);
     }},
    {"list length",
     [] {
       CCS_datadesc_t d;
       return CCS_datadesc_create_iov(-1, nullptr, nullptr, &d);
     }},
    {"pack room",
     [] {
       CCS_datadesc_t d = made();
       return CCS_pack(bytes, bytes, 1, d, 7);
     }},
    {"pack from null", [] { return CCS_pack(bytes, nullptr, 1, made(), 8); }},
    {"pack of a freed description",
     [] {
       CCS_datadesc_t d = made();
       const CCS_datadesc_t copy = d;
       CCS_datadesc_free(&d);
       return CCS_pack(bytes, bytes, 1, copy, 8);
     }},
    {"unpack to null", [] { return CCS_unpack(nullptr, bytes, 1, made(), 8); }},
    {"broadcast null", [] { return CCS_bcast(nullptr, 1, made(), 0); }},
    {"message of null", [] { return CCS_amrequest(context, 0, nullptr, 1, made(), 0, 0); }},
    {"put from null", [] { return CCS_put(0, nullptr, 1, made(), bytes, 8, CCS_DATA8, nullptr, nullptr); }},
    {"get to null", [] { return CCS_get(0, bytes, 8, CCS_DATA8, nullptr, 1, made(), nullptr, nullptr); }},
    {"free symmetric", [] { return CCS_free_symmetric(bytes); }},
    {"free symmetric null", [] { return CCS_free_symmetric(nullptr); }},
    {"begin in a handler while the end waits",
     [] {
       // The end runs the first handler, and what it sends.
       const auto begins = [](CCS_token_t, void*, unsigned) {
         if (CCS_init() == CCS_FAILURE) std::puts("refused");
       };
       const auto sends = [](CCS_token_t token, void*, unsigned) {
         CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 1, 0);
       };
       CCS_register_handler(context, 0, +sends);
       CCS_register_handler(context, 1, +begins);
       CCS_nointerrupt_begin();
       CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 0, 0);
       return CCS_nointerrupt_end();
     }},
    {"one end too many",
     [] {
       std::atomic<int> n_refused{0};
       std::vector<std::thread> threads;
       for (int i = 0; i < 4; ++i) threads.emplace_back([&n_refused] { n_refused += CCS_finalize() == CCS_FAILURE; });
       for (std::thread& t : threads) t.join();
       std::printf("%d ends refused\n", n_refused.load());
       return CCS_init();
     }},
    {"environment", [] { return +CCS_SUCCESS; }},
    {"the largest message",
     [] {
       static char largest[CCS_MAX_AM_LENGTH];
       CCS_register_handler(context, 0, empty_handler);
       return CCS_amrequest(context, 0, largest, CCS_MAX_AM_LENGTH, CCS_DATA8, 0, 0);
     }},
    {"a message that is delayed for long",
     [] {
       CCS_register_large_handler(context, 5, delays_for_long);
       return CCS_amlarge(context, 0, bytes, 24, CCS_DATA8, 5, nullptr, nullptr, 0);
     }},
    {"no handler",
     [] {
       CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 77, 0);
       poll_forever();
       return 0;
     }},
    {"argument count",
     [] {
       CCS_register_handler(context, 0, empty_handler);
       CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 0, 1, 5);
       poll_forever();
       return 0;
     }},
    {"handler keeps a lock",
     [] {
       CCS_register_handler(context, 0, keeps_a_lock);
       CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 0, 0);
       poll_forever();
       return 0;
     }},
    {"handler throws",
     [] {
       CCS_register_handler(context, 0, throws);
       CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, 0, 0);
       poll_forever();
       return 0;
     }},
    {"handler of large messages throws",
     [] {
       CCS_register_large_handler(context, 5, throws_for_large);
       CCS_amlarge(context, 0, bytes, 24, CCS_DATA8, 5, nullptr, nullptr, 0);
       poll_forever();
       return 0;
     }},
    {"callback throws",
     [] { return CCS_put(0, nullptr, 0, CCS_DATA_NULL, nullptr, 0, CCS_DATA_NULL, throws_a_number, nullptr); }},
    {"callback stays in a section",
     [] { return CCS_put(0, nullptr, 0, CCS_DATA_NULL, nullptr, 0, CCS_DATA_NULL, stays_in_a_section, nullptr); }},
    {"lock twice",
     [] {
       CCS_lock(&lock);
       return CCS_lock(&lock);
     }},
    {"poll with a lock",
     [] {
       CCS_lock(&lock);
       CCS_poll();
       return 0;
     }},
    {"fence with a lock",
     [] {
       CCS_lock(&lock);
       return CCS_allfence();
     }},
    {"barrier in a section",
     [] {
       CCS_nointerrupt_begin();
       return CCS_barrier();
     }},
    {"barrier in a handler", [] { return handle([] { return CCS_barrier(); }); }},
    {"fence in a handler", [] { return handle([] { return CCS_fence(0); }); }},
    {"all-fence in a handler", [] { return handle([] { return CCS_allfence(); }); }},
    {"finalize in a handler", [] { return handle([] { return CCS_finalize(); }); }},
    {"broadcast in a handler", [] { return handle([] { return CCS_bcast(bytes, 8, CCS_DATA8, 0); }); }},
    {"reduction to one in a handler",
     [] { return handle([] { return CCS_reduce(bytes, bytes, 1, CCS_INT64, CCS_SUM, 0); }); }},
    {"reduction in a handler",
     [] { return handle([] { return CCS_allreduce(bytes, bytes, 1, CCS_INT64, CCS_SUM); }); }},
    {"symmetric memory in a handler",
     [] {
       return handle([] {
         void* at = nullptr;
         return CCS_malloc_symmetric(64, &at);
       });
     }},
    {"end of symmetric memory in a handler",
     [] {
       static void* at = nullptr;
       CCS_malloc_symmetric(64, &at);
       return handle([] { return CCS_free_symmetric(at); });
     }},
    {"reduction with a lock",
     [] {
       CCS_lock(&lock);
       return CCS_allreduce(bytes, bytes, 1, CCS_INT64, CCS_SUM);
     }},
    {"symmetric memory in a callback",
     [] {
       const CCS_callback_t allocates = [](void* to) { std::_Exit(CCS_malloc_symmetric(64, static_cast<void**>(to))); };
       static void* at = nullptr;
       CCS_put(0, nullptr, 0, CCS_DATA_NULL, nullptr, 0, CCS_DATA_NULL, allocates, &at);
       poll_forever();
       return 0;
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "before") return CCS_barrier() == CCS_FAILURE ? 0 : 2;
  const auto found = cases.find(name);
  if (found == cases.end()) {
    for (const auto& c : cases) std::puts(c.first.c_str());
    return 3;
  }
  if (CCS_init() != CCS_SUCCESS || CCS_new_context(&context) != CCS_SUCCESS) return 4;
  const int result = found->second();
  if (result == CCS_FAILURE) std::puts("refused");
  return CCS_finalize() == CCS_SUCCESS ? 0 : 5;
}
