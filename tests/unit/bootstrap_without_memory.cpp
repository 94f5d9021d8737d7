// Bootstraps wait for memory where other ranks count on them; without it they end their sessions, not the process.
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/job_file.hpp"
#include "lib/bootstrap/session.hpp"
#include "lib/bootstrap/tcp_client.hpp"
#include "lib/bootstrap/tcp_key.hpp"
#include "lib/bootstrap/tcp_root.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using lci_test::failing_memory;
namespace tcp = lci::network::tcp;

// Only allocations of at least this size fail: those for the message.
constexpr size_t large = 4000;

struct socket_pair {
  socket_pair() {
    std::array<int, 2> both{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, both.data()) == 0);
    ours = tcp::socket_fd(both[0]);
    theirs = tcp::socket_fd(both[1]);
  }
  void write(const std::string& bytes) const {
    REQUIRE(send(ours.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  tcp::socket_fd ours, theirs;
};

void await_failures(long n) {
  while (failing_memory::failures() < n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::atomic<int> watches_refused{0};  // so many calls of epoll_ctl() that add a descriptor are still to fail
std::atomic<int> accepts_refused{0};  // so many calls of accept4() are still to fail

std::string message() { return tcp::encode(tcp::kind::value, std::string(large, 'x')); }

}  // namespace

/// Instead of the C library's, for the whole program.
extern "C" int epoll_ctl(int events, int operation, int fd, epoll_event* event) noexcept {
  static auto* const original = reinterpret_cast<decltype(&epoll_ctl)>(dlsym(RTLD_NEXT, "epoll_ctl"));
  if (operation == EPOLL_CTL_ADD && watches_refused > 0) {
    --watches_refused;
    return errno = ENOMEM, -1;
  }
  return original(events, operation, fd, event);
}

/// Instead of the C library's, for the whole program.
extern "C" int accept4(int listener, sockaddr* address, socklen_t* size, int flags) {
  static auto* const original = reinterpret_cast<decltype(&accept4)>(dlsym(RTLD_NEXT, "accept4"));
  if (accepts_refused > 0) {
    --accepts_refused;
    return errno = EMFILE, -1;
  }
  return original(listener, address, size, flags);
}

namespace {

/// The root of a job of two ranks, and its address.
class two_ranks {
 public:
  two_ranks() {
    here_.sin_family = AF_INET;
    here_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here_;
    tcp::socket_fd listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    REQUIRE(bind(listener.get(), address(), size) == 0);
    REQUIRE(listen(listener.get(), 1) == 0);
    REQUIRE(getsockname(listener.get(), address(), &size) == 0);
    root_ = std::make_unique<tcp::root>(std::move(listener), std::move(own_.theirs), 2, tcp::job_key());
    root_->set_close_timeout(0.001);
  }
  /// Rank 1, which has not joined.
  tcp::client connect_one() {
    tcp::socket_fd one(socket(AF_INET, SOCK_STREAM, 0));
    REQUIRE(connect(one.get(), address(), sizeof here_) == 0);
    return {std::move(one), "here", 5};
  }

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&here_); }

  socket_pair own_;
  sockaddr_in here_{};
  std::unique_ptr<tcp::root> root_;
};

}  // namespace

TEST_CASE("the root of a tcp bootstrap admits a rank for which it has no descriptor at first, and does not spin") {
  two_ranks job;
  constexpr int refused = 20;
  const auto begun = std::chrono::steady_clock::now();
  accepts_refused = refused;
  tcp::client c = job.connect_one();
  CHECK(!c.join(1, 2, tcp::job_key()).empty());
  CHECK(accepts_refused == 0);
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(refused));
}

TEST_CASE("the root of a tcp bootstrap admits a rank that the kernel has no memory to watch at first") {
  two_ranks job;
  for (const int refused : {3, lci::memory_tries}) {
    watches_refused = refused;
    tcp::client c = job.connect_one();
    std::string id, what;
    try {
      id = c.join(1, 2, tcp::job_key());
    } catch (const lci::bootstrap_error& e) {
      what = e.what();
    }
    CHECK(watches_refused == 0);
    CHECK(id.empty() == (refused != 3));
    CHECK((what.find("closed the connection") != std::string::npos) == (refused != 3));  // at once
  }
}

TEST_CASE("a rank of a tcp bootstrap gets a message that it has no memory for at first") {
  socket_pair s;
  tcp::client c(std::move(s.theirs), "nowhere", 10);
  const std::string bytes = message();
  {
    const failing_memory some(large, 0, 5);
    s.write(bytes);
    await_failures(5);
  }
  CHECK(c.receive().body.size() == large);
}

TEST_CASE("a rank of a tcp bootstrap that has no memory for a message throws that") {
  socket_pair s;
  tcp::client c(std::move(s.theirs), "nowhere", 10);
  const std::string bytes = message();
  {
    const failing_memory none(large);
    s.write(bytes);
    await_failures(lci::memory_tries);
  }
  std::string what;
  try {
    c.receive();
  } catch (const lci::bootstrap_error& e) {
    what = e.what();
  }
  CHECK(what.find("no memory") != std::string::npos);
}

TEST_CASE("the root of a tcp bootstrap without memory closes its connections") {
  socket_pair s, listener;
  tcp::root root(std::move(listener.theirs), std::move(s.theirs), 1, tcp::job_key());
  const std::string bytes = tcp::encode(tcp::kind::put, std::string(large, 'x'));
  std::string end(100, ' ');
  {
    const failing_memory none(large);
    s.write(bytes);
    while (recv(s.ours.get(), end.data(), end.size(), 0) > 0) continue;  // the welcome comes first
  }
  CHECK(failing_memory::failures() == lci::memory_tries);
}

TEST_CASE("a session without memory ends if a request was sent and its answer not read") {
  using lci::network::session;
  const auto run_short_of_memory = [](session& s, bool within_exchange, bool answered) {
    s.run("get", [&] {
      if (within_exchange) s.begin_exchange();
      if (answered) s.end_exchange();
      throw std::bad_alloc();
    });
  };
  {
    session whole("test");
    CHECK_THROWS_AS(run_short_of_memory(whole, false, false), std::bad_alloc);
    CHECK_THROWS_AS(run_short_of_memory(whole, true, true), std::bad_alloc);
    CHECK(whole.usable());
    CHECK_THROWS_AS(run_short_of_memory(whole, true, false), std::bad_alloc);
    CHECK_FALSE(whole.usable());
    try {
      whole.run("fence", [] {});
      FAIL("run() did not throw");
    } catch (const lci::bootstrap_error& e) {
      CHECK(std::string(e.what()).find("has failed before: no memory") != std::string::npos);
    }
  }
  CHECK_THROWS_AS(session("test"), lci::bootstrap_error);
  session::allow_another();
}

TEST_CASE("a rank that has no memory at first shares its data through a job file once") {
  std::string folder = (std::filesystem::temp_directory_path() / "lci-job-file-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  {
    lci::network::job_file job(folder + "/ranks", 1, 10);
    const std::string data(large, 'x');
    std::string got;
    {
      const failing_memory some(large, 0, 5);
      got = job.share(data);
      CHECK(failing_memory::failures() == 5);
    }
    CHECK(got == data);
    CHECK(job.share("y") == "y");
  }
  std::filesystem::remove_all(folder);
}
