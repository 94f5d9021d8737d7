// Transfers between a server's memory and that of its clients; handles; misuse.
#include <numeric>

#include "tests/layers/mercury/functions.hpp"

namespace {

using namespace test;

/// Memory in pieces, each between two guard bytes that must not change.
struct pieces {
  explicit pieces(const std::vector<size_t>& sizes) : sizes(sizes) {
    for (size_t n : sizes) blocks.emplace_back(n + 2, 0xEE);
    for (auto& b : blocks) addresses.push_back(b.data() + 1);
    total = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  }
  unsigned char& at(size_t i) {
    size_t k = 0;
    for (; i >= sizes[k]; ++k) i -= sizes[k];
    return blocks[k][i + 1];
  }
  void check_borders() const {
    for (auto& b : blocks) REQUIRE(b.front() == 0xEE && b.back() == 0xEE);
  }
  hg_bulk_t handle(unsigned long flags) {
    hg_bulk_t made = HG_BULK_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(sizes.size(), addresses.data(), sizes.data(), flags, &made));
    return made;
  }

  std::vector<size_t> sizes;
  std::vector<std::vector<unsigned char>> blocks;
  std::vector<void*> addresses;
  size_t total = 0;
};

void transfer(const hg& h, na_addr_t server, const std::vector<size_t>& sizes, size_t offset, size_t size) {
  pieces p(sizes);
  for (size_t i = 0; i < size; ++i) p.at(offset + i) = pattern(7, i);
  bulk_in_t in{p.handle(HG_BULK_READ_ONLY), offset, size, 7};
  number_t out{1};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pull, &in, &out));
  REQUIRE(out.value == 0);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(in.memory));

  in.memory = p.handle(HG_BULK_READWRITE);
  in.seed = 1234;
  out.value = 1;
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.push, &in, &out));
  REQUIRE(out.value == 0);
  for (size_t i = 0; i < size; ++i) REQUIRE(p.at(offset + i) == pattern(1234, i));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(in.memory));
  p.check_borders();
}

/// Transfers that must be refused: they return an error and change no memory.
void refused(const hg& h, na_addr_t server) {
  pieces p({1000, 1000});
  bulk_in_t in{p.handle(HG_BULK_READ_ONLY), 0, 2000, 3};
  number_t out{0};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.push, &in, &out));
  REQUIRE(out.value >= 1000000);
  in.origin_offset = 1;  // beyond the end
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pull, &in, &out));
  REQUIRE(out.value >= 1000000);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(in.memory));
  in.memory = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pull, &in, &out));
  REQUIRE(out.value >= 1000000);
  for (size_t i = 0; i < 2000; ++i) REQUIRE(p.at(i) == 0xEE);
}

int call(const std::string& name, const char* url) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  transfer(h, server, {1}, 0, 1);
  transfer(h, server, {100000}, 1, 99999);
  transfer(h, server, {3, 1, 4000, 70000, 5}, 2, 74000);
  transfer(h, server, {1 << 20, 1 << 20, 1 << 20}, 100, 3 << 20 >> 1);
  transfer(h, server, std::vector<size_t>(1000, 37), 10, 36000);
  transfer(h, server, std::vector<size_t>(10000, 3), 0, 30000);
  refused(h, server);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

void misuse() {
  const size_t sizes[2] = {10, 0}, good = 10;
  char memory[10] = {};
  void* addresses[1] = {memory};
  hg_bulk_t handle = HG_BULK_NULL;
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_create(0, addresses, &good, HG_BULK_READWRITE, &handle));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_create(1, addresses, nullptr, HG_BULK_READWRITE, &handle));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_create(2, nullptr, sizes, HG_BULK_READWRITE, &handle));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_create(1, addresses, &good, 77, &handle));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_handle_create(1, addresses, &good, HG_BULK_READWRITE, nullptr));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(HG_BULK_NULL));
  REQUIRE(HG_Bulk_handle_get_size(HG_BULK_NULL) == 0 && HG_Bulk_handle_get_segment_count(HG_BULK_NULL) == 0);
  REQUIRE(HG_Bulk_handle_get_serialize_size(HG_BULK_NULL) == 0);
  REQUIRE_HG(HG_INVALID_PARAM,
             HG_Bulk_handle_access(HG_BULK_NULL, 0, 1, HG_BULK_READWRITE, 1, nullptr, nullptr, nullptr));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_wait(HG_BULK_REQUEST_NULL, 0, HG_STATUS_IGNORE));
}

/// Deserializing is an error if bytes are missing, or, at the positions from `begin` to `end`, changed.
void check_damaged(const std::vector<char>& bytes, size_t begin, size_t end) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    hg_bulk_t made = HG_BULK_NULL;
    const std::vector<char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i));
    REQUIRE(HG_Bulk_handle_deserialize(&made, cut.empty() ? bytes.data() : cut.data(), i) != HG_SUCCESS);
    REQUIRE(made == HG_BULK_NULL);
    if (i < begin || i >= end) continue;
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
      const hg_return_t code = HG_Bulk_handle_deserialize(&made, changed.data(), changed.size());
      // A change of the owner's random number makes it the handle of another process, a valid one.
      const bool is_owner = i >= 24 && i < 32;
      REQUIRE(code != HG_SUCCESS || is_owner);
      if (code == HG_SUCCESS) REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(made));
      made = HG_BULK_NULL;
    }
  }
}

/// A handle in its owner's process: memory that it owns, access, serialization, and copies without a network.
void alone(const hg& h) {
  const size_t sizes[3] = {10, 20, 30};
  hg_bulk_t a = HG_BULK_NULL, b = HG_BULK_NULL, same = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(3, nullptr, sizes, HG_BULK_READWRITE, &a));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &sizes[2], HG_BULK_READWRITE, &b));
  REQUIRE(HG_Bulk_handle_get_size(a) == 60 && HG_Bulk_handle_get_segment_count(a) == 3);
  void* at[3];
  size_t got[3];
  unsigned n = 9;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(a, 5, 50, HG_BULK_READWRITE, 3, at, got, &n));
  REQUIRE(n == 3 && got[0] == 5 && got[1] == 20 && got[2] == 25);
  for (unsigned i = 0; i < n; ++i)
    for (size_t k = 0; k < got[i]; ++k) REQUIRE(static_cast<char*>(at[i])[k] == 0);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(a, 5, 50, HG_BULK_READWRITE, 2, nullptr, nullptr, &n));
  REQUIRE(n == 2);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(a, 5, 0, HG_BULK_READWRITE, 2, at, got, &n));
  REQUIRE(n == 0);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(a, 5, 5, HG_BULK_READWRITE, 0, at, got, &n));
  REQUIRE(n == 0);

  std::vector<char> bytes(HG_Bulk_handle_get_serialize_size(a));
  REQUIRE_HG(HG_SIZE_ERROR, HG_Bulk_handle_serialize(bytes.data(), bytes.size() - 1, a));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_serialize(bytes.data(), bytes.size(), a));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_deserialize(&same, bytes.data(), bytes.size()));
  REQUIRE(same == a);
  check_damaged(bytes, 0, bytes.size());
  std::vector<char> longer = bytes;
  longer.resize(bytes.size() + 100);
  hg_bulk_t again = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_deserialize(&again, longer.data(), longer.size()));
  REQUIRE(again == a);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(again));

  const na_addr_t self = h.self();
  void* source = nullptr;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(b, 0, 30, HG_BULK_READWRITE, 1, &source, nullptr, nullptr));
  for (int i = 0; i < 30; ++i) static_cast<char*>(source)[i] = static_cast<char>(i);
  hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
  hg_status_t status = HG_FALSE;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_transfer(HG_BULK_PUSH, self, a, 5, b, 1, 29, &request));
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_wait(request, 0, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(a, 0, 60, HG_BULK_READWRITE, 3, at, got, &n));
  for (int i = 1; i < 30; ++i) REQUIRE(static_cast<char*>(at[i < 6 ? 0 : 1])[i < 6 ? i + 4 : i - 6] == i);

  REQUIRE_HG(HG_SIZE_ERROR, HG_Bulk_transfer(HG_BULK_PULL, self, a, 31, b, 0, 30, &request));
  REQUIRE_HG(HG_SIZE_ERROR, HG_Bulk_transfer(HG_BULK_PULL, self, a, 0, b, 1, 30, &request));
  REQUIRE_HG(HG_SIZE_ERROR, HG_Bulk_transfer(HG_BULK_PULL, self, a, ~size_t{0}, b, 0, 2, &request));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_transfer(static_cast<hg_bulk_op_t>(5), self, a, 0, b, 0, 1, &request));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_transfer(HG_BULK_PULL, NA_ADDR_NULL, a, 0, b, 0, 1, &request));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_transfer(HG_BULK_PULL, self, HG_BULK_NULL, 0, b, 0, 1, &request));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_transfer(HG_BULK_PULL, self, a, 0, HG_BULK_NULL, 0, 1, &request));
  REQUIRE_HG(HG_INVALID_PARAM, HG_Bulk_transfer(HG_BULK_PULL, self, a, 0, b, 0, 1, nullptr));
  for (hg_bulk_t handle : {a, b, same}) REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(handle));

  // The handle has been freed, so its serialized form names no memory.
  hg_bulk_t stale = HG_BULK_NULL;
  REQUIRE_HG(HG_PROTOCOL_ERROR, HG_Bulk_handle_deserialize(&stale, bytes.data(), bytes.size()));
  check_damaged(bytes, 0, bytes.size());
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, self));
}

/// A transfer keeps the handles that it uses. The memory of `local` is the handle's own, and larger than the messages
/// that can be on the way when the handles are freed.
hg_return_t run_hasty(hg_handle_t handle) {
  bulk_in_t in;
  REQUIRE_HG(HG_SUCCESS, HG_Handler_get_input(handle, &in));
  const size_t size = in.size;
  number_t out{0};
  for (hg_bulk_op_t op : {HG_BULK_PULL, HG_BULK_PUSH}) {
    hg_bulk_t local = HG_BULK_NULL, again = HG_BULK_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &local));
    std::vector<char> bytes(HG_Bulk_handle_get_serialize_size(in.memory));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_serialize(bytes.data(), bytes.size(), in.memory));
    hg_bulk_t origin = HG_BULK_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_deserialize(&origin, bytes.data(), bytes.size()));
    hg_bulk_request_t request = HG_BULK_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_transfer(op, HG_Handler_get_addr(handle), origin, 0, local, 0, size, &request));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(local));
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(origin));
    // What reuses the memory of the freed handles.
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &again));
    void* other = nullptr;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_access(again, 0, size, HG_BULK_READWRITE, 1, &other, nullptr, nullptr));
    hg_status_t status = HG_FALSE;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_wait(request, 20000, &status));
    REQUIRE(status == HG_TRUE);
    for (size_t i = 0; i < size; ++i) out.value += static_cast<char*>(other)[i] != 0;
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(again));
  }
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free_input(handle, &in));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  return HG_Handler_free(handle);
}

int serve_hasty(const char* url) {
  const hg h(url, true, true);
  MERCURY_REGISTER("hasty", bulk_in_t, number_t, run_hasty);
  say(h.own_name());
  serve();
  return 0;
}

void handles_freed_early() {
  process server({"hasty", "tcp"});
  const std::string name = server.line();
  {
    const hg h("tcp");
    const hg_id_t hasty = MERCURY_REGISTER("hasty", bulk_in_t, number_t, nullptr);
    const na_addr_t there = h.find(name);
    pieces p({16 << 20, 5});
    for (size_t i = 0; i < p.sizes[0]; ++i) p.blocks[0][i + 1] = 0x77;
    bulk_in_t in{p.handle(HG_BULK_READWRITE), 0, p.total, 0};
    number_t out{1};
    REQUIRE_HG(HG_SUCCESS, h.call(there, hasty, &in, &out));
    REQUIRE(out.value == 0);
    for (size_t i = 0; i < p.sizes[0]; ++i) REQUIRE(p.blocks[0][i + 1] == 0);  // pushed from memory of zeros
    REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_free(in.memory));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, there));
  }
  REQUIRE(end_server(name, "tcp") == 0);
  REQUIRE(server.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(argv[2]);
  if (role == "hasty") return serve_hasty(argv[2]);
  if (role == "call") return call(argv[2], argv[3]);
  if (role == "end") return end_server(argv[2], argv[3]);
  {
    const hg h("tcp");
    misuse();
    alone(h);
  }
  handles_freed_early();
  run_two_clients();
  return 0;
}
