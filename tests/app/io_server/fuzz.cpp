// io_fuzz ADDRESS SEED COUNT MARKER: a client that sends COUNT valid and invalid requests: truncated, with flipped
// bits, with paths out of the root, with invalid sizes, offsets, handles and memory regions. Exits with status 1 if the
// server has failed, or has returned MARKER, the content of a file outside of the root.
//
// io_fuzz ADDRESS hold PATH: locks a file, prints "locked", and waits for a line on its standard input. Then it
// disconnects without ending its session, prints "disconnected", and ends after another line.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "examples/io_server/protocol.hpp"

namespace {

using io_server::op;
using io_server::reply;
using io_server::request;

constexpr double patience = 60;  // time limit in seconds for an answer

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "io_fuzz: %s\n", what);
  std::exit(1);
}

/// Owns a runtime with one connection, which the server may end at any time.
class attacker {
 public:
  explicit attacker(const std::string& address) : memory_(io_server::most_bulk, 0) {
    runtime_ = lci::alloc_runtime_x().bootstrap("none").max_peers(4).accept_external_peers(false)();
    device_ = lci::get_default_device_x().runtime(runtime_)();
    replies_ = lci::alloc_cq_x().runtime(runtime_)();
    replies_handle_ = lci::register_rcomp_x(replies_).runtime(runtime_)();
    region_ = lci::register_memory_x(memory_.data(), memory_.size()).device(device_)();
    server_ = lci::connect_x(address).runtime(runtime_).timeout(patience)().rank;
    if (!exchange(std::string(), make(op::hello))) fail("the server refuses a session");
  }
  /// Disconnects without ending the session.
  ~attacker() {
    try {
      lci::disconnect_x(server_).runtime(runtime_)();
    } catch (const std::exception&) {
    }
    lci::deregister_memory_x(&region_).runtime(runtime_)();
    lci::deregister_rcomp_x(replies_handle_).runtime(runtime_)();
    lci::free_comp_x(&replies_).runtime(runtime_)();
    lci::free_runtime(&runtime_);
  }
  attacker(const attacker&) = delete;
  attacker& operator=(const attacker&) = delete;

  request make(op what) const {
    request r;
    r.what = what;
    r.reply_to = replies_handle_;
    r.number = 1;
    return r;
  }
  lci::rmr_t memory() const { return lci::get_rmr_x(region_).runtime(runtime_)(); }

  /// Sends a message and waits for its reply. Returns false if the server has ended the connection.
  bool exchange(const std::string& behind, const request& r) {
    std::string message(reinterpret_cast<const char*>(&r), sizeof r);
    return exchange(message + behind);
  }
  bool exchange(const std::string& message) {
    has_succeeded_ = false;
    try {
      post(message, io_server::request_queue);
      for (double waited = 0; waited < patience; waited += 0.05) {
        const lci::status_t s = lci::cq_wait_for_x(replies_, 0.05).device(device_)();
        if (s.is_done()) {
          take(s);
          return true;
        }
        post(std::string(), ~lci::rcomp_t{0} >> 8);  // throws if the connection has ended
      }
    } catch (const std::exception&) {
      return false;
    }
    fail("a request is neither answered nor refused");
  }
  /// The registered memory, to which the server puts data.
  bool has(std::string_view marker) const {
    return std::string_view(memory_.data(), 1 << 16).find(marker) != std::string_view::npos ||
           last_.find(marker) != std::string::npos;
  }
  uint64_t handle() const { return handle_; }
  bool has_succeeded() const { return has_succeeded_; }  // whether the last request has succeeded

 private:
  void post(const std::string& message, lci::rcomp_t to) {
    for (;;) {
      const lci::status_t s =
          lci::post_am_x(server_, const_cast<char*>(message.data()), message.size(), lci::COMP_NULL_RETRY, to)
              .device(device_)();
      if (!s.is_retry()) return;
      lci::progress_x().device(device_)();
    }
  }
  void take(const lci::status_t& s) {
    last_.assign(static_cast<const char*>(s.buffer), s.size);
    std::free(s.buffer);
    reply head;
    if (last_.size() < sizeof head) fail("a reply is cut");
    std::memcpy(&head, last_.data(), sizeof head);
    if (head.size != last_.size() - sizeof head) fail("a reply has another size than it says");
    has_succeeded_ = head.error == 0;
    if (head.error == 0 && head.result > 0 && head.result < 100000) handle_ = static_cast<uint64_t>(head.result);
  }

  std::vector<char> memory_;
  lci::runtime_t runtime_;
  lci::device_t device_;
  lci::comp_t replies_;
  lci::rcomp_t replies_handle_ = 0;
  lci::mr_t region_;
  int server_ = -1;
  uint64_t handle_ = 1;
  bool has_succeeded_ = false;
  std::string last_;
};

class fuzzer {
 public:
  explicit fuzzer(unsigned seed) : random_(seed) {}

  /// Sends one request. Returns false if the connection has ended. The server must end it after a message that violates
  /// the protocol.
  bool step(attacker& a) {
    request r = a.make(static_cast<op>(below(static_cast<unsigned>(op::locate) + 2)));
    r.handle = below(3) == 0 ? number() : a.handle();
    r.a = r.what == op::open ? static_cast<int64_t>(below(4) | flag(O_CREAT) | flag(O_TRUNC) | flag(O_APPEND) |
                                                    flag(O_DIRECTORY) | flag(O_NOFOLLOW) | flag(O_PATH))
                             : number();
    r.b = number();
    r.c = number();
    if (takes_path(r.what) && below(4) != 0) r.handle = 0;
    if (takes_two(r.what) && below(8) != 0) r.b = below(4) != 0 ? 0 : static_cast<int64_t>(a.handle());
    r.group = static_cast<uint32_t>(below(3));
    if (below(2) == 0) r.memory = a.memory();
    if (below(8) == 0) damage(reinterpret_cast<char*>(&r.memory), sizeof r.memory);
    std::string behind = path();
    r.text_size = static_cast<uint16_t>(behind.size());
    if (takes_two(r.what)) {
      const std::string second = path();
      r.text2_size = static_cast<uint16_t>(second.size());
      behind += second;
    }
    if (r.what == op::write) {
      r.data_size = static_cast<uint16_t>(below(2) == 0 ? 0 : below(4097));
      behind.append(r.data_size, 'x');
    }
    keep_small(r);
    std::string message(reinterpret_cast<const char*>(&r), sizeof r);
    message += behind;
    if (below(8) == 0) message.resize(below(static_cast<unsigned>(message.size()) + 1));
    if (below(8) == 0) {
      // Do not change the reply's completion handle or the sizes of memory regions.
      constexpr size_t first = offsetof(request, magic), last = offsetof(request, reply_to);
      if (message.size() > last) damage(message.data() + first, last);
      if (message.size() > sizeof r) damage(message.data() + sizeof r, message.size() - sizeof r);
    }
    const bool stays = a.exchange(limited(message));
    return stays && r.what != op::bye;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  unsigned flag(unsigned f) { return below(3) == 0 ? f : 0; }

  int64_t number() {
    constexpr int64_t some[] = {0,       1,         -1,        7,         4096,           4097,      65536,
                                1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,      1 << 23,   (1 << 23) + 1,
                                131072,  524288,    393217,    -4096,     INT64_MAX - 10, 1LL << 40, 2};
    return some[below(std::size(some))];
  }

  std::string path() {
    static const char* const some[] = {"",
                                       "f",
                                       "d/f",
                                       "../outside/secret",
                                       "up/outside/secret",
                                       "d/../..",
                                       "link",
                                       "absolute",
                                       "deep/../secret",
                                       "/../outside/secret",
                                       ".",
                                       "..",
                                       "d/",
                                       "folder/secret",
                                       "./d/.././f",
                                       "/",
                                       "new",
                                       "d/new",
                                       "up/new",
                                       "folder/new",
                                       "../new",
                                       "made",
                                       "made/secret",
                                       "../outside",
                                       "/proc/self/root"};
    std::string s = some[below(std::size(some))];
    if (below(40) == 0) s = std::string(below(7000), 'p');
    if (below(40) == 0)
      for (int i = 0; i < 500; ++i) s += "/..";
    if (below(20) == 0 && !s.empty()) damage(s.data(), s.size());
    return s;
  }

  void damage(char* at, size_t size) {
    for (unsigned n = 1 + below(4); n > 0; --n)
      at[below(static_cast<unsigned>(size))] ^= static_cast<char>(1 << below(8));
  }

  static bool takes_path(op what) {
    switch (what) {
      case op::open:
      case op::stat:
      case op::access:
      case op::truncate:
      case op::unlink:
      case op::rename:
      case op::mkdir:
      case op::readlink:
      case op::link:
      case op::statfs:
        return true;
      default:
        return false;
    }
  }
  static bool takes_two(op what) { return what == op::rename || what == op::symlink || what == op::link; }

  /// Limits the sizes of allocations, so that the test does not fill the disk.
  static void keep_small(request& r) {
    if (r.what == op::fallocate && r.b > 1 << 20 && r.b < INT64_MAX / 2) r.b = 4096;
  }
  static std::string limited(std::string message) {
    request r;
    if (message.size() < sizeof r) return message;
    std::memcpy(&r, message.data(), sizeof r);
    keep_small(r);
    std::memcpy(message.data(), &r, sizeof r);
    return message;
  }

  std::mt19937_64 random_;
};

}  // namespace

namespace {

int hold_lock(const std::string& address, const std::string& path) {
  {
    attacker a(address);
    request r = a.make(op::open);
    r.a = O_RDWR | O_CREAT;
    r.b = 0644;
    r.text_size = static_cast<uint16_t>(path.size());
    if (!a.exchange(path, r) || !a.has_succeeded()) fail("the file can't be opened");
    r = a.make(op::lock);
    r.handle = a.handle();
    r.a = F_WRLCK;
    if (!a.exchange(std::string(), r) || !a.has_succeeded()) fail("the file can't be locked");
    std::puts("locked");
    std::fflush(stdout);
    std::getchar();
  }
  std::puts("disconnected");
  std::fflush(stdout);
  std::getchar();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[2]) == "hold") return hold_lock(argv[1], argv[3]);
  if (argc != 5) fail("ADDRESS SEED COUNT MARKER, or ADDRESS hold PATH");
  const std::string address = argv[1], marker = argv[4];
  fuzzer f(static_cast<unsigned>(std::atoi(argv[2])));
  int connections = 0, successes = 0;
  std::unique_ptr<attacker> a;
  for (int i = std::atoi(argv[3]); i > 0; --i) {
    if (a == nullptr) {
      a = std::make_unique<attacker>(address);
      ++connections;
    }
    const bool stays = f.step(*a);
    if (a->has(marker)) fail("what is outside of the root has come back");
    successes += a->has_succeeded();
    if (!stays) a.reset();
  }
  std::printf("%d connections, %d requests executed\n", connections, successes);
  return 0;
}
