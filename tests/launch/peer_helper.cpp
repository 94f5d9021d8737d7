// A server and its clients, which are started independently. `server` prints its address and serves until a client
// requests the end; `client` connects several times, sends each kind of request and checks the answers. The other modes
// are in run_client() and main().
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <lci.hpp>
#include <lci/cpp20.hpp>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

enum class request_kind : uint32_t { echo, send_back, window, ordered, report, end };

struct request {
  request_kind what;
  lci::rcomp_t answer_to;
  uint64_t size;
};
struct report {
  uint64_t served, died, descriptors, mappings, resident_kib, drained;
};

constexpr uint64_t ordered_messages = 30;
constexpr size_t window_size = 1 << 20;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "peer_helper: %s\n", what.c_str());
  std::_Exit(3);
}
void require(bool good, const char* what) {
  if (!good) fail(what);
}

uint64_t descriptors() {
  DIR* d = opendir("/proc/self/fd");
  uint64_t n = 0;
  while (readdir(d) != nullptr) ++n;
  closedir(d);
  return n - 3;  // . and .. and the directory itself
}

uint64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<uint64_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

// --- the server ---

class server {
 public:
  int run() {
    cq_ = lci::alloc_cq();
    const lci::rcomp_t rcomp = lci::register_rcomp(cq_);
    window_.resize(window_size);
    mr_ = lci::register_memory(window_.data(), window_.size());
    if (std::getenv("PEER_HELPER_DEVICES") != nullptr) second_ = lci::alloc_device();
    std::printf("%s %u\n", lci::get_address().c_str(), rcomp);
    std::fflush(stdout);
    while (!over_) {
      try {
        serve_one();
      } catch (const lci::peer_failure_error& e) {
        note(e);
      } catch (const lci::invalid_argument_error& e) {
        // The request had arrived before the failure of its client, which freed the client's id, was reported.
        if (std::strstr(e.what(), "no peer outside of the job is connected under this id") == nullptr) throw;
      }
    }
    lci::deregister_memory(&mr_);
    if (!second_.is_empty()) lci::free_device(&second_);
    lci::free_comp(&cq_);
    return 0;
  }

 private:
  void note(const lci::peer_failure_error& e) {
    // Also thrown for clients that disconnect before they have got their answer.
    if (std::strstr(e.what(), "without a close notification") == nullptr) return;
    ++report_.died;
    lci::disconnect(e.failed_rank());
  }

  /// Receives although the failures of other clients are thrown meanwhile, which would withdraw a blocking receive.
  lci::status_t receive_from(int client, std::vector<char>& buffer) {
    const lci::unique_handle sync(lci::alloc_sync());
    lci::status_t got = lci::post_recv(client, buffer.data(), buffer.size(), 7, sync);
    while (got.is_posted()) {
      try {
        lci::sync_wait(sync, &got);
      } catch (const lci::peer_failure_error& e) {
        note(e);
      }
    }
    lci::check_status(got);
    return got;
  }

  void serve_one() {
    if (!second_.is_empty()) lci::progress_x().device(second_)();
    if (!lci::progress().is_done()) usleep(20);
    const lci::status_t s = lci::cq_pop(cq_);
    if (!s.is_done()) return;
    struct freeing {
      void* p;
      ~freeing() { std::free(p); }
    } const at_end{s.buffer};
    require(s.size >= sizeof(request), "a request is truncated");
    request r;
    std::memcpy(&r, s.buffer, sizeof r);
    answer(s.rank, r, static_cast<const char*>(s.buffer) + sizeof r, s.size - sizeof r);
    ++report_.served;
  }

  void answer(int client, const request& r, const char* data, size_t size) {
    switch (r.what) {
      case request_kind::echo:
        lci::post_am(client, data, size, lci::COMP_NULL, r.answer_to);
        break;
      case request_kind::send_back: {
        std::vector<char> buffer(r.size);
        const lci::status_t got = receive_from(client, buffer);
        require(got.size == r.size && got.rank == client, "a send has another peer or size");
        lci::post_send(client, buffer.data(), buffer.size(), 8, lci::COMP_NULL);
        break;
      }
      case request_kind::window: {
        const lci::rmr_t rmr = lci::get_rmr(mr_);
        lci::post_am(client, &rmr, sizeof rmr, lci::COMP_NULL, r.answer_to);
        break;
      }
      case request_kind::ordered: {  // `size` is a number
        uint64_t& next = next_[client];
        require(r.size == next++, "messages of a stream have arrived in another order");
        if (next < ordered_messages) break;
        next_.erase(client);
        lci::post_am(client, &r.size, sizeof r.size, lci::COMP_NULL, r.answer_to);
        break;
      }
      case request_kind::report:
        report_.descriptors = descriptors();
        report_.mappings = mappings();
        report_.resident_kib = resident_kib();
        report_.drained = lci::test_drained().is_done();
        lci::post_am(client, &report_, sizeof report_, lci::COMP_NULL, r.answer_to);
        break;
      case request_kind::end:
        over_ = true;
        break;
    }
  }

  lci::comp_t cq_;
  lci::device_t second_;
  lci::mr_t mr_;
  std::vector<char> window_;
  report report_{};
  std::map<int, uint64_t> next_;  // by client
  bool over_ = false;
};

// --- clients ---

class client {
 public:
  explicit client(char** words) : address_(words[0]), rcomp_(std::strtoul(words[1], nullptr, 10)) {
    cq_ = lci::alloc_cq();
    answers_ = lci::register_rcomp(cq_);
  }
  ~client() { lci::free_comp(&cq_); }

  void connect() {
    const lci::status_t s = lci::connect(address_);
    require(s.is_done() && s.rank > 0, "connect() did not return done with an id");
    peer_ = s.rank;
  }
  void disconnect() {
    const int gone = peer_;
    lci::disconnect(gone);
    try {
      lci::post_am(gone, &gone, sizeof gone, lci::COMP_NULL, rcomp_);
      fail("a post after disconnect() was accepted");
    } catch (const lci::peer_failure_error&) {
    } catch (const lci::invalid_argument_error&) {  // the id is free already
    }
  }

  void ask(request_kind what, const std::vector<char>& data = {}, uint64_t size = 0) {
    std::vector<char> message(sizeof(request) + data.size());
    const request r{what, answers_, size};
    std::memcpy(message.data(), &r, sizeof r);
    if (!data.empty()) std::memcpy(message.data() + sizeof r, data.data(), data.size());
    lci::post_am(peer_, message.data(), message.size(), lci::COMP_NULL, rcomp_);
  }
  std::vector<char> receive() {
    lci::status_t s;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(s = lci::cq_pop(cq_)).is_done()) {
      require(std::chrono::steady_clock::now() < end, "no answer");
      if (!second_.is_empty()) lci::progress_x().device(second_)();
      if (!lci::progress().is_done()) usleep(20);
    }
    require(s.rank == peer_, "an answer has another id");
    std::vector<char> data(static_cast<char*>(s.buffer), static_cast<char*>(s.buffer) + s.size);
    std::free(s.buffer);
    return data;
  }

  std::vector<char> pattern(size_t size) {
    std::vector<char> data(size);
    std::iota(data.begin(), data.end(), static_cast<char>(getpid() + ++seed_));
    return data;
  }

  void everything() {
    for (const size_t size : {8u, 500u, 5000u, 300000u}) {
      const auto data = pattern(size);
      ask(request_kind::echo, data);
      require(receive() == data, "an echo differs");
    }
    for (const size_t size : {16u, 4000u, 200000u}) {
      const auto data = pattern(size);
      std::vector<char> back(size);
      ask(request_kind::send_back, {}, size);
      lci::post_send(peer_, data.data(), size, 7, lci::COMP_NULL);
      const auto s = lci::post_recv(peer_, back.data(), size, 8, lci::COMP_NULL);
      require(s.size == size && s.rank == peer_ && back == data, "data that was sent back differs");
    }
    ask_in_a_stream();
    const lci::rmr_t rmr = window();
    // Each client uses its own part of the window.
    const size_t part = 4096, offset = static_cast<size_t>(getpid()) % 256 * part;
    const auto data = pattern(part);
    std::vector<char> back(part);
    lci::post_put_x(peer_, data.data(), part, lci::COMP_NULL, offset, rmr)
        .comp_semantic(lci::comp_semantic_t::remote)();
    lci::post_get(peer_, back.data(), part, lci::COMP_NULL, offset, rmr);
    require(back == data, "a get returned other data than was put");
    uint64_t before = 0, one = 1, first;
    std::memcpy(&first, data.data(), sizeof first);
    lci::post_atomic(peer_, lci::atomic_op_t::add, &one, &before, lci::COMP_NULL, offset, rmr);
    require(before == first, "a fetch-and-add has not returned what was put");
    lci::post_get(peer_, &before, sizeof before, lci::COMP_NULL, offset, rmr);
    require(before == first + 1, "a fetch-and-add has not added");
    move_rows(offset, rmr);
  }

  /// Puts the rows of a matrix into the server's memory with gaps between them, gets them back in reverse order, and
  /// checks them and a gap.
  void move_rows(size_t offset, lci::rmr_t rmr) {
    constexpr size_t row = 100, rows = 8, pitch = 400;
    const auto data = pattern(row * rows);
    const size_t counts[] = {row, rows}, strides[] = {pitch};
    const auto there = lci::layout_t::strided(counts, strides, 1);
    lci::post_put_x(peer_, data.data(), data.size(), lci::COMP_NULL, offset, rmr)
        .remote_layout(&there)
        .comp_semantic(lci::comp_semantic_t::remote)();
    std::vector<lci::layout_segment_t> pieces;
    for (size_t i = rows; i > 0; --i) pieces.push_back({(i - 1) * row, row});
    const auto here = lci::layout_t::iovec(pieces.data(), pieces.size());
    std::vector<char> back(data.size());
    lci::post_get_x(peer_, back.data(), back.size(), lci::COMP_NULL, offset, rmr)
        .layout(&here)
        .remote_layout (&there)();
    for (size_t i = 0; i < rows; ++i)
      require(std::equal(&data[i * row], &data[i * row] + row, &back[(rows - 1 - i) * row]), "a row differs");
    std::vector<char> gap(pitch - row);
    lci::post_get(peer_, gap.data(), gap.size(), lci::COMP_NULL, offset + row, rmr);
    require(!std::equal(gap.begin(), gap.begin() + row, &data[row]), "a put of rows has filled a gap");
  }

  /// Uses the whole window, so by one client at a time.
  void large() {
    const lci::rmr_t rmr = window();
    for (int i = 0; i < 5; ++i) {
      const auto data = pattern(window_size);
      std::vector<char> back(window_size);
      lci::post_put_x(peer_, data.data(), data.size(), lci::COMP_NULL, 0, rmr)
          .comp_semantic(lci::comp_semantic_t::remote)();
      lci::post_get(peer_, back.data(), back.size(), lci::COMP_NULL, 0, rmr);
      require(back == data, "a large get returned other data than was put");
      const auto message = pattern(5000000);
      ask(request_kind::echo, message);
      require(receive() == message, "a large echo differs");
    }
  }

  /// Short echoes for so many tenths of a second. Prints "ready" after the first, and in the end the longest round trip
  /// in milliseconds.
  void rhythm(int tenths) {
    using clock = std::chrono::steady_clock;
    connect();
    const auto end = clock::now() + std::chrono::milliseconds(100 * tenths);
    clock::duration longest{};
    for (bool first = true; first || clock::now() < end; first = false) {
      const auto begin = clock::now();
      const auto data = pattern(8);
      ask(request_kind::echo, data);
      require(receive() == data, "an echo differs");
      longest = std::max(longest, clock::now() - begin);
      if (first) std::puts("ready");
      std::fflush(stdout);
    }
    std::printf("%ld\n", static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()));
    disconnect();
  }

  /// Through a second device, which is made when the first connection exists; the server has one, too.
  void devices() {
    connect();
    second_ = lci::alloc_device();
    for (int i = 0; i < 3; ++i) {
      if (i == 2) connect();
      for (const size_t size : {8u, 5000u, 300000u}) {
        std::vector<char> message(sizeof(request) + size);
        const request r{request_kind::echo, answers_, size};
        std::memcpy(message.data(), &r, sizeof r);
        const lci::comp_t sent = lci::alloc_sync();
        lci::comp_t done = sent;
        const lci::status_t s =
            lci::post_am_x(peer_, message.data(), message.size(), done, rcomp_).device(second_).allow_retry(false)();
        lci::status_t end;
        while (!s.is_done() && !lci::sync_test(done, &end)) {
          lci::progress_x().device(second_)();
          lci::progress();
        }
        require(receive().size() == size, "an echo of a second device has another size");
        lci::free_comp(&done);
      }
      if (i != 0) disconnect();
    }
    lci::free_device(&second_);
  }

  lci::rmr_t window() {
    ask(request_kind::window);
    const auto raw = receive();
    lci::rmr_t rmr;
    require(raw.size() == sizeof rmr, "a registration is truncated");
    std::memcpy(&rmr, raw.data(), sizeof rmr);
    return rmr;
  }

  void ask_in_a_stream() {
    lci::stream_t stream = lci::alloc_stream();
    const size_t sizes[] = {0, 30000, 300, 100000, 8};
    for (uint64_t i = 0; i < ordered_messages; ++i) {
      std::vector<char> message(sizeof(request) + sizes[i % std::size(sizes)]);
      const request r{request_kind::ordered, answers_, i};
      std::memcpy(message.data(), &r, sizeof r);
      lci::post_am_x(peer_, message.data(), message.size(), lci::COMP_NULL, rcomp_).stream(stream)();
    }
    require(receive().size() == sizeof(uint64_t), "the answer to a stream is truncated");
    lci::free_stream(&stream);
  }

  report look() {
    ask(request_kind::report);
    const auto raw = receive();
    report r;
    require(raw.size() == sizeof r, "a report is truncated");
    std::memcpy(&r, raw.data(), sizeof r);
    return r;
  }

 private:
  const std::string address_;
  const lci::rcomp_t rcomp_;
  lci::comp_t cq_;
  lci::device_t second_;
  lci::rcomp_t answers_;
  int peer_ = -1;
  int seed_ = 0;
};

sigset_t guest_signals;  // blocked before threads exist

int run_client(const std::string& mode, char** words, int times) {
  client c(words);
  if (mode == "devices") return c.devices(), 0;
  if (mode == "rhythm") return c.rhythm(times), 0;
  for (int i = 0; i < times; ++i) {
    c.connect();
    if (mode == "client") c.everything();
    if (mode == "large") c.large();
    if (mode == "guest") {  // stays connected until it gets the signal
      c.everything();
      std::puts("ready");
      std::fflush(stdout);
      int received = 0;
      sigwait(&guest_signals, &received);
      c.everything();
    }
    if (mode == "report") {
      const report r = c.look();
      std::printf("%lu %lu %lu %lu %lu %lu\n", r.served, r.died, r.descriptors, r.mappings, r.resident_kib, r.drained);
    }
    if (mode == "end") c.ask(request_kind::end);
    if (mode == "victim") {  // killed with many operations in flight
      std::puts("ready");
      std::fflush(stdout);
      const auto data = c.pattern(300000);
      for (;;) c.ask(request_kind::echo, data), c.receive();
    }
    if (mode != "no_disconnect") c.disconnect();  // otherwise the end of the runtime disconnects
  }
  // Sends what is still queued, such as the request to end the server.
  for (int i = 0; i < 10; ++i) lci::progress();
  return 0;
}

/// Prints which exception connect() throws for this address, and its text.
int try_address(const char* address, double timeout) {
  try {
    lci::connect_x(address).timeout(timeout)();
    std::puts("connected");
  } catch (const lci::invalid_argument_error& e) {
    std::printf("invalid_argument_error %s\n", e.what());
  } catch (const lci::peer_failure_error& e) {
    std::printf("peer_failure_error %s\n", e.what());
  } catch (const lci::resource_error& e) {
    std::printf("resource_error %s\n", e.what());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 98;
  const std::string mode = argv[1];
  sigemptyset(&guest_signals);
  sigaddset(&guest_signals, SIGUSR1);
  if (mode == "guest") sigprocmask(SIG_BLOCK, &guest_signals, nullptr);
  lci::g_runtime_init();
  int result = 97;
  if (mode == "server") result = server().run();
  if (mode == "refused") {  // get_address() and connect() must both throw
    int refused = 0;
    const auto count = [&](auto&& call) {
      try {
        call();
      } catch (const lci::invalid_argument_error& error) {
        std::printf("%s\n", error.what());
        ++refused;
      }
    };
    count([] { (void)lci::get_address(); });
    count([&] { (void)lci::connect(argv[2]); });
    result = refused == 2 ? 0 : 4;
  }
  if (mode == "address") {  // without making progress
    std::printf("%s 0\n", lci::get_address().c_str());
    std::fflush(stdout);
    pause();
  }
  if (mode == "self") {
    const lci::status_t s = lci::connect(lci::get_address());
    result = s.is_done() && s.rank == lci::get_rank_me() ? 0 : 4;
  }
  if (mode == "try" && argc > 2) result = try_address(argv[2], argc > 3 ? std::atof(argv[3]) : 60);
  if (argc > 4) result = run_client(mode, argv + 2, std::atoi(argv[4]));
  lci::g_runtime_fina();
  return result;
}
