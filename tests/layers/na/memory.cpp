// Puts and gets between contiguous and segmented memory at any offsets, and the checks of permissions and sizes.
#include <random>
#include <utility>

#include "lci.hpp"
#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

constexpr size_t bytes = 3 << 20;

/// Divides memory into random segments, some of them empty, in an order that differs from that in memory.
std::vector<na_segment> cut(char* memory, size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<na_segment> segments;
  for (size_t at = 0; at < n;) {
    const size_t size = std::min<size_t>(n - at, random() % 20 == 0 ? 0 : 1 + random() % 100000);
    segments.push_back({reinterpret_cast<na_ptr_t>(memory + at), size});
    at += size;
  }
  for (size_t i = segments.size(); i > 1; --i) std::swap(segments[i - 1], segments[random() % i]);
  return segments;
}

/// The bytes of the segments, one after the other.
std::vector<char*> in_order(const std::vector<na_segment>& segments) {
  std::vector<char*> all;
  for (const na_segment& s : segments)
    for (size_t i = 0; i < s.size; ++i) all.push_back(reinterpret_cast<char*>(s.address) + i);
  return all;
}

std::string serialized(const network& net, na_mem_handle_t handle) {
  std::string text(NA_Mem_handle_get_serialize_size(net.c, handle), 0);
  REQUIRE(!text.empty());
  REQUIRE_CODE(NA_SIZE_ERROR, NA_Mem_handle_serialize(net.c, text.data(), text.size() - 1, handle));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_serialize(net.c, text.data(), text.size(), handle));
  return text;
}

void send_text(const network& net, na_addr_t to, const std::string& text) {
  // Serialized handles with many segments do not fit in a message.
  for (size_t at = 0; at <= text.size(); at += 4096) {
    outcome sent;
    const std::string part = text.substr(at, 4096);
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, part.data(), part.size(), to,
                                                  static_cast<na_tag_t>(1000 + at / 4096), NA_OP_ID_IGNORE));
    net.until([&] { return sent.done(); });
  }
}

std::string receive_text(const network& net, na_addr_t from, size_t size) {
  std::string text;
  for (size_t at = 0; at <= size; at += 4096) {
    outcome got;
    std::string part(std::min<size_t>(4096, size - at), 0);
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &got, part.data(), part.size(), from,
                                                  static_cast<na_tag_t>(1000 + at / 4096), NA_OP_ID_IGNORE));
    net.until([&] { return got.done(); });
    REQUIRE(got.info.ret == NA_SUCCESS);
    text += part;
  }
  return text;
}

/// Waits for any unexpected message. Returns its source.
na_addr_t await(const network& net) {
  outcome got;
  char byte;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, NA_OP_ID_IGNORE));
  net.until([&] { return got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS);
  return got.info.info.recv_unexpected.source;
}

void signal_to(const network& net, na_addr_t to) {
  outcome sent;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, "x", 1, to, 0, NA_OP_ID_IGNORE));
  net.until([&] { return sent.done(); });
}

/// The owner of memory in many segments. The client first writes all of it, then changes parts.
int own() {
  const network net("na+sm://", true);
  test::say(net.own_name());
  const na_addr_t client = await(net);
  std::vector<char> memory(bytes), fixed(5000, 'f');
  auto segments = cut(memory.data(), bytes, 1);
  na_mem_handle_t many = NA_MEM_HANDLE_NULL, constant = NA_MEM_HANDLE_NULL, again = NA_MEM_HANDLE_NULL;
  REQUIRE_CODE(NA_SUCCESS,
               NA_Mem_handle_create_segments(net.c, segments.data(), segments.size(), NA_MEM_READWRITE, &many));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, fixed.data(), fixed.size(), NA_MEM_READ_ONLY, &constant));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, fixed.data(), fixed.size(), NA_MEM_READWRITE, &again));
  char small[4];
  REQUIRE_CODE(NA_PERMISSION_ERROR, NA_Mem_handle_serialize(net.c, memory.data(), memory.size(), constant));
  for (const na_mem_handle_t h : {many, constant, again}) REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(net.c, h));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(net.c, again));
  REQUIRE_CODE(NA_SIZE_ERROR, NA_Mem_handle_serialize(net.c, small, sizeof small, many));
  for (const na_mem_handle_t h : {many, constant}) {
    const std::string text = serialized(net, h);
    std::string size = std::to_string(text.size());
    size.resize(101, ' ');
    send_text(net, client, size);
    send_text(net, client, text);
  }
  REQUIRE(await(net) == client);  // the client has written
  const auto bytes_of = in_order(segments);
  REQUIRE(bytes_of.size() == bytes);
  for (size_t i = 0; i < bytes; ++i) REQUIRE(*bytes_of[i] == static_cast<char>(i * 7 + i / 1000));
  signal_to(net, client);
  REQUIRE(await(net) == client);
  for (const na_mem_handle_t h : {many, constant, again}) {
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_deregister(net.c, h));
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, h));
  }
  return 0;
}

class client {
 public:
  explicit client(const std::string& name) : net_("ssm+tcp"), server_(net_.find(name)) {}

  int run() {
    signal_to(net_, server_);
    many_ = receive_handle();
    constant_ = receive_handle();
    auto segments = cut(memory_.data(), bytes, 2);
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Mem_handle_create_segments(net_.c, segments.data(), segments.size(), NA_MEM_READWRITE, &pieces_));
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net_.c, flat_.data(), flat_.size(), NA_MEM_READ_ONLY, &whole_));
    const auto mine = in_order(segments);
    for (size_t i = 0; i < bytes; ++i) *mine[i] = static_cast<char>(i * 7 + i / 1000);
    REQUIRE(move(NA_Put, pieces_, 0, many_, 0, bytes) == NA_SUCCESS);
    // Gets any part of it into contiguous memory.
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const size_t n = i == 0 ? bytes : random() % (i % 2 == 0 ? bytes : 300), from = random() % (bytes - n + 1),
                   to = random() % (bytes - n + 1);
      std::fill(flat_.begin(), flat_.end(), '?');
      REQUIRE(move(NA_Get, whole_, to, many_, from, n) == NA_SUCCESS);
      for (size_t k = 0; k < n; ++k) REQUIRE(flat_[to + k] == *mine[from + k]);
      REQUIRE(to == 0 || flat_[to - 1] == '?');
      REQUIRE(to + n == bytes || flat_[to + n] == '?');
      REQUIRE(move(NA_Put, whole_, to, many_, from, n) == NA_SUCCESS);
    }
    REQUIRE(move(NA_Get, whole_, 0, constant_, 0, 5000) == NA_SUCCESS && flat_[4999] == 'f');
    misuse();
    several_at_once(mine);
    signal_to(net_, server_);
    await(net_);
    REQUIRE(NA_Mem_register(net_.c, many_) == NA_INVALID_PARAM);
    for (const na_mem_handle_t h : {many_, constant_, pieces_, whole_})
      REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net_.c, h));
    signal_to(net_, server_);
    return 0;
  }

 private:
  na_mem_handle_t receive_handle() {
    const size_t n = std::stoul(receive_text(net_, server_, 101));
    const std::string text = receive_text(net_, server_, n);
    na_mem_handle_t handle = NA_MEM_HANDLE_NULL;
    for (size_t cut = 0; cut < n; cut = cut < 100 ? cut + 1 : cut + n / 50 + 1)
      REQUIRE(NA_Mem_handle_deserialize(net_.c, &handle, text.data(), cut) == NA_SIZE_ERROR);
    for (size_t i = 0; i < n; i += i < 200 ? 1 : n / 100 + 1) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 0x10);
      REQUIRE(NA_Mem_handle_deserialize(net_.c, &handle, changed.data(), n) != NA_SUCCESS);
    }
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_deserialize(net_.c, &handle, text.data(), n));
    REQUIRE(NA_Mem_handle_get_serialize_size(net_.c, handle) == n);
    REQUIRE(serialized(net_, handle) == text);  // a process may forward a handle to others
    return handle;
  }

  template <class F>
  na_return_t move(F f, na_mem_handle_t local, size_t local_offset, na_mem_handle_t remote, size_t remote_offset,
                   size_t n) {
    outcome moved;
    const na_return_t code = f(net_.c, net_.x, outcome::store, &moved, local, local_offset, remote, remote_offset, n,
                               server_, NA_OP_ID_IGNORE);
    if (code != NA_SUCCESS) {
      NA_Progress(net_.c, net_.x, 1);
      NA_Trigger(net_.x, 0, 10, nullptr);
      REQUIRE(moved.calls == 0);
      return code;
    }
    net_.until([&] { return moved.done(); });
    return moved.info.ret;
  }

  void misuse() {
    REQUIRE(move(NA_Put, whole_, 0, constant_, 0, 1) == NA_PERMISSION_ERROR);
    REQUIRE(move(NA_Put, whole_, 0, many_, bytes, 1) == NA_SIZE_ERROR);
    REQUIRE(move(NA_Put, whole_, 1, many_, 0, bytes) == NA_SIZE_ERROR);
    REQUIRE(move(NA_Get, whole_, 0, constant_, 4999, 2) == NA_SIZE_ERROR);
    REQUIRE(move(NA_Get, whole_, 0, constant_, ~na_offset_t{0}, 2) == NA_SIZE_ERROR);
    REQUIRE(move(NA_Get, whole_, 0, constant_, 0, ~na_size_t{0}) == NA_SIZE_ERROR);
    REQUIRE(move(NA_Get, whole_, 0, NA_MEM_HANDLE_NULL, 0, 1) == NA_INVALID_PARAM);
    REQUIRE(move(NA_Get, many_, 0, many_, 0, 1) == NA_INVALID_PARAM);
    REQUIRE(move(NA_Get, whole_, 0, whole_, 0, 1) == NA_INVALID_PARAM);
    REQUIRE(move(NA_Get, whole_, 0, constant_, 5000, 0) == NA_SUCCESS);
  }

  void several_at_once(const std::vector<char*>& mine) {
    constexpr size_t n = 64, size = 20000;
    std::vector<outcome> got(n);
    std::fill(flat_.begin(), flat_.end(), '?');
    for (size_t i = 0; i < n; ++i)
      REQUIRE_CODE(NA_SUCCESS, NA_Get(net_.c, net_.x, outcome::store, &got[i], whole_, i * size, many_, i * size, size,
                                      server_, NA_OP_ID_IGNORE));
    for (size_t i = 0; i < n; ++i) {
      net_.until([&] { return got[i].done(); });
      REQUIRE(got[i].calls == 1 && got[i].info.ret == NA_SUCCESS && got[i].info.type == NA_CB_GET);
    }
    for (size_t k = 0; k < n * size; ++k) REQUIRE(flat_[k] == *mine[k]);
  }

  const network net_;
  const na_addr_t server_;
  std::vector<char> memory_ = std::vector<char>(bytes), flat_ = std::vector<char>(bytes);
  na_mem_handle_t many_ = nullptr, constant_ = nullptr, pieces_ = nullptr, whole_ = nullptr;
};

/// NA refuses a memory handle that is used with the address of another process than the one that made it.
void handles_of_another_process() {
  const network owner("tcp", true), other("tcp", true), net("tcp");
  std::string memory(100, 'm'), mine(100, '-');
  na_mem_handle_t exposed = NA_MEM_HANDLE_NULL, there = NA_MEM_HANDLE_NULL, here = NA_MEM_HANDLE_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(owner.c, memory.data(), memory.size(), NA_MEM_READWRITE, &exposed));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(owner.c, exposed));
  const std::string text = serialized(owner, exposed);
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_deserialize(net.c, &there, text.data(), text.size()));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, mine.data(), mine.size(), NA_MEM_READWRITE, &here));
  const na_addr_t wrong = net.find(other.own_name()), right = net.find(owner.own_name());
  outcome never, got;
  REQUIRE_CODE(NA_PROTOCOL_ERROR,
               NA_Get(net.c, net.x, outcome::store, &never, here, 0, there, 0, mine.size(), wrong, NA_OP_ID_IGNORE));
  REQUIRE_CODE(NA_PROTOCOL_ERROR,
               NA_Put(net.c, net.x, outcome::store, &never, here, 0, there, 0, mine.size(), wrong, NA_OP_ID_IGNORE));
  REQUIRE_CODE(NA_SUCCESS,
               NA_Get(net.c, net.x, outcome::store, &got, here, 0, there, 0, mine.size(), right, NA_OP_ID_IGNORE));
  net.until([&] { return got.done(); });
  REQUIRE(got.info.ret == NA_SUCCESS && mine == memory && !never.done());
  for (const auto& [of, h] : {std::pair{&net, there}, {&net, here}, {&owner, exposed}})
    REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(of->c, h));
}

/// A peer that ignores the flag of a READ_ONLY handle, and puts by the core's functions.
void read_only_memory_of_a_malicious_peer() {
  const char* const backend = std::getenv("LCI_ATTR_BACKEND");
  if (backend == nullptr || std::strcmp(backend, "tcp") != 0) return;  // in shared memory, peers can't be prevented
  const network owner("tcp", true);
  std::string memory(100, 'm'), theirs(100, '!');
  na_mem_handle_t exposed = NA_MEM_HANDLE_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(owner.c, memory.data(), memory.size(), NA_MEM_READ_ONLY, &exposed));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_register(owner.c, exposed));
  const std::string text = serialized(owner, exposed);
  lci::rmr_t key;
  REQUIRE(text.size() >= sizeof key + 8);
  std::memcpy(&key, text.data() + text.size() - sizeof key - 8, sizeof key);  // the only piece; its size is last
  lci::runtime_t peer = lci::alloc_runtime_x().bootstrap("none").max_peers(2)();
  lci::comp_t done = lci::alloc_sync_x().runtime(peer)();
  const int rank = lci::connect_x(owner.own_name()).runtime(peer)().rank;
  const auto is_written = [&](bool writes) {
    try {
      lci::status_t s;
      do {
        s = writes ? lci::post_put_x(rank, theirs.data(), theirs.size(), done, 0, key)
                         .runtime(peer)
                         .comp_semantic(lci::comp_semantic_t::remote)()
                   : lci::post_get_x(rank, theirs.data(), theirs.size(), done, 0, key).runtime(peer)();
        lci::progress_x().runtime(peer)();
      } while (s.is_retry());
      for (const double end = test::now() + 20; s.is_posted() && !lci::sync_test_x(done, &s).runtime(peer)();)
        REQUIRE((lci::progress_x().runtime(peer)(), test::now() < end));
      return s.is_done();
    } catch (const lci::peer_failure_error&) {
      return false;
    }
  };
  REQUIRE(is_written(false) && theirs == memory);
  theirs.assign(theirs.size(), '!');
  REQUIRE(!is_written(true));
  REQUIRE(memory == std::string(memory.size(), 'm'));
  lci::free_comp_x(&done).runtime(peer)();
  lci::free_runtime(&peer);
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(owner.c, exposed));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "own") == 0) return own();
  if (argc == 2) return client(argv[1]).run();
  test::process owner({"own"});
  const std::string name = owner.line();
  test::process other({name});
  REQUIRE(other.wait() == 0);
  REQUIRE(owner.wait() == 0);
  handles_of_another_process();
  read_only_memory_of_a_malicious_peer();
  return 0;
}
