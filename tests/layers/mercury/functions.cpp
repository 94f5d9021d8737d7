#include "tests/layers/mercury/functions.hpp"

#include <atomic>

namespace test {
namespace {

std::atomic<bool> ended{false};
hg_thread_pool_t* pool = nullptr;

hg_return_t answer(hg_handle_t handle, void* out) {
  const hg_return_t code = HG_Handler_start_output(handle, out);
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free(handle));
  return code;
}

hg_return_t run_null(hg_handle_t handle) { return answer(handle, nullptr); }

hg_return_t run_open(hg_handle_t handle) {
  open_in_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  open_out_t out{static_cast<hg_int32_t>(std::strlen(in.path)), static_cast<hg_int32_t>(in.cookie)};
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  return answer(handle, &out);
}

hg_return_t run_length(hg_handle_t handle) {
  text_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  number_t out{0};
  for (const char* p = in.text; *p != 0; ++p) out.value = out.value * 31 + static_cast<unsigned char>(*p);
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  return answer(handle, &out);
}

/// Returns a text of the requested length.
hg_return_t run_repeat(hg_handle_t handle) {
  number_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  std::string text(in.value, 'r');
  text_t out{text.data()};
  answer(handle, &out);
  return HG_SUCCESS;
}

void* in_pool(void* handle) {
  number_t n;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &n));
  usleep(2000);
  ++n.value;
  answer(handle, &n);
  return nullptr;
}

hg_return_t run_pooled(hg_handle_t handle) {
  REQUIRE(hg_thread_pool_post(pool, in_pool, handle) == HG_UTIL_SUCCESS);
  return HG_SUCCESS;
}

hg_return_t run_silent(hg_handle_t handle) { return HG_Handler_free(handle); }

/// Starts transfers and waits for them in threads of the pool, while the main thread executes calls.
void* transfer_in_pool(void* handle, hg_bulk_op_t op) {
  bulk_in_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  hg_bulk_t local = HG_BULK_NULL;
  const size_t size = in.size;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &local));
  void* memory = nullptr;
  size_t got = 0;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(local, 0, size, HG_BULK_READWRITE, 1, &memory, &got, nullptr));
  REQUIRE(got == size);
  auto* bytes = static_cast<unsigned char*>(memory);
  if (op == HG_BULK_PUSH)
    for (size_t i = 0; i < size; ++i) bytes[i] = pattern(in.seed, i);
  number_t out{0};
  // In four pieces, all outstanding at once.
  std::vector<hg_bulk_request_t> pieces;
  for (size_t at = 0, piece = size / 4 + 1; at < size; at += piece) {
    hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
    const hg_return_t code = HG_Bulk_transfer(op, HG_Handler_get_addr(handle), in.memory, in.origin_offset + at, local,
                                              at, std::min(piece, size - at), &request);
    if (code != HG_SUCCESS) {
      out.value += 1000000;
      break;
    }
    pieces.push_back(request);
  }
  for (hg_bulk_request_t request : pieces) {
    hg_status_t status = HG_FALSE;
    if (HG_Bulk_wait(request, 20000, &status) != HG_SUCCESS) out.value += 1000000;
    REQUIRE(status == HG_TRUE);
  }
  if (op == HG_BULK_PULL)
    for (size_t i = 0; i < size; ++i) out.value += bytes[i] != pattern(in.seed, i);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(local));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  answer(handle, &out);
  return nullptr;
}

hg_return_t run_pull(hg_handle_t handle) {
  hg_thread_pool_post(
      pool, [](void* h) { return transfer_in_pool(h, HG_BULK_PULL); }, handle);
  return HG_SUCCESS;
}

hg_return_t run_push(hg_handle_t handle) {
  transfer_in_pool(handle, HG_BULK_PUSH);
  return HG_SUCCESS;
}

/// Returns a checksum of the encoded arguments.
hg_return_t run_hash(hg_handle_t handle) {
  void* in = nullptr;
  size_t size = 0;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input_buf(handle, &in, &size));
  void* out = nullptr;
  size_t room = 0;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_output_buf(handle, &out, &room));
  hg_proc_t proc = HG_PROC_NULL;
  number_t n{size};
  REQUIRE_HG(HG_SUCCESS, hg_proc_create(out, room, HG_ENCODE, HG_NOHASH, &proc));
  REQUIRE_HG(HG_SUCCESS, hg_proc_number_t(proc, &n));
  hg_proc_free(proc);
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_response(handle, nullptr, 0));
  return HG_Handler_free(handle);
}

hg_return_t run_die(hg_handle_t) { _exit(5); }

/// Never answers.
hg_return_t run_keep(hg_handle_t) {
  say("kept");
  return HG_SUCCESS;
}

hg_return_t run_end(hg_handle_t handle) {
  ended = true;
  return answer(handle, nullptr);
}

}  // namespace

functions register_functions(bool executes) {
  const auto routine = [executes](hg_rpc_cb_t f) { return executes ? f : nullptr; };
  functions f{};
  f.null = MERCURY_REGISTER("null", void, void, routine(run_null));
  f.open = MERCURY_REGISTER("open", open_in_t, open_out_t, routine(run_open));
  f.length = MERCURY_REGISTER("length", text_t, number_t, routine(run_length));
  f.repeat = MERCURY_REGISTER("repeat", number_t, text_t, routine(run_repeat));
  f.pooled = MERCURY_REGISTER("pooled", number_t, number_t, routine(run_pooled));
  f.silent = MERCURY_REGISTER("silent", void, void, routine(run_silent));
  f.pull = MERCURY_REGISTER("pull", bulk_in_t, number_t, routine(run_pull));
  f.push = MERCURY_REGISTER("push", bulk_in_t, number_t, routine(run_push));
  f.hash = MERCURY_REGISTER("hash", text_t, number_t, routine(run_hash));
  f.die = MERCURY_REGISTER("die", void, void, routine(run_die));
  f.keep = MERCURY_REGISTER("keep", void, void, routine(run_keep));
  f.end = MERCURY_REGISTER("end", void, void, routine(run_end));
  if (!executes) f.nobody = MERCURY_REGISTER("nobody", void, void, nullptr);
  return f;
}

void serve() {
  REQUIRE(hg_thread_pool_init(2, &pool) == HG_UTIL_SUCCESS);
  ended = false;
  while (!ended) {
    hg_status_t status = HG_FALSE;
    const hg_return_t code = HG_Handler_process(1000, &status);
    REQUIRE(code == HG_SUCCESS || code == HG_NA_ERROR);  // the latter after the failure of a client
  }
  REQUIRE(hg_thread_pool_destroy(pool) == HG_UTIL_SUCCESS);
}

int serve_at(const char* url) {
  const hg h(url, true, true);
  say(h.own_name());
  serve();
  return 0;
}

int end_server(const std::string& name, const char* url) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.end, nullptr, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

void run_two_clients() {
  for (const char* url : {"bmi+tcp", "na+sm"}) {
    process server({"serve", url});
    const std::string name = server.line();
    REQUIRE(!name.empty());
    process a({"call", name, url}), b({"call", name, url});
    REQUIRE(a.wait() == 0 && b.wait() == 0);
    REQUIRE(process({"end", name, url}).wait() == 0);
    REQUIRE(server.wait() == 0);
  }
}

}  // namespace test
