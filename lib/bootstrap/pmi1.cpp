// Ranks from a launcher that speaks PMI-1: lcirun, MPICH's hydra, Slurm's pmi2 plugin. Needs no library: the protocol
// is implemented here, over PMI_FD (inherited) or PMI_PORT (connected to).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/mpi_process.hpp"
#include "lib/bootstrap/pmi1_channel.hpp"
#include "lib/bootstrap/pmi1_value.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/bootstrap/session.hpp"

namespace lci::network {

namespace {

using pmi1::message;

// All known servers accept lines of this length; some have a buffer of 1 KiB.
constexpr size_t safe_line = 1000;
// Keeps keys apart from those of an MPI that shares the launcher with us.
constexpr char key_prefix[] = "lci.";

constexpr char pmi1_source[] = "PMI_RANK, PMI_SIZE, or what the launcher at PMI_PORT says";
constexpr char pmi1_group[] = "PMI_FD, PMI_RANK and PMI_SIZE";

/// A duplicate of PMI_FD: an MPI in this process may close PMI_FD when it ends.
int duplicate_pmi_fd(int fd) {
  struct stat info {};
  const char* why = nullptr;
  if (fstat(fd, &info) != 0) {
    why =
        "is not an open file descriptor; was this process started by a rank instead of by the "
        "launcher? Then unset PMI_FD, PMI_RANK and PMI_SIZE";
  } else if (!S_ISSOCK(info.st_mode)) {
    why = "is not a socket, so no launcher made it";
  }
  if (why != nullptr) {
    throw bootstrap_error("PMI_FD=" + std::to_string(fd) + " " + why + "; " + bootstrap_remedy);
  }
  // Programs that a rank starts must not inherit the launcher's socket.
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) {
    throw bootstrap_error("PMI_FD=" + std::to_string(fd) + ": " + strerror(errno));
  }
  return copy;
}

/// The process's session with the launcher. Not thread-safe, as bootstrap allows. A process forked off a rank must not
/// use it: both would read from one socket.
class pmi1_bootstrap final : public bootstrap {
 public:
  pmi1_bootstrap() {
    timeout_ = bootstrap_timeout();
    if (env_text("PMI_FD") != nullptr) {
      open_fd();
    } else if (env_text("PMI_PORT") != nullptr) {
      open_port();
    } else {
      throw_no_connection();
    }
    session_.describe(where_, rank_, size_);
    session_.run("init", [&] { init(); });
  }

  ~pmi1_bootstrap() override {
    // An MPI in this process uses, or used, the same connection and sends `finalize` itself; launchers end jobs whose
    // ranks finalize early.
    if (!session_.usable() || mpi_shares_launcher()) return;
    try {
      channel_->set_timeout(timeout_ > 0 ? std::min(timeout_, 5.0) : 5.0);
      channel_->send("cmd=finalize\n");
      channel_->receive();
    } catch (const std::exception&) {
      // The launcher has ended or is ending: there is nothing to finalize. Or this rank has no memory to do it.
    }
  }

  const char* name() const override { return "pmi1"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return kvsname_; }
  std::optional<host_place> locality() const override { return place_by_environment(); }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    session_.run("put", [&] {
      const auto pieces = pmi1::to_pieces(value, piece_length_);
      for (size_t i = 0; i < pieces.size(); ++i) {
        const message reply =
            ask("cmd=put kvsname=" + kvsname_ + " key=" + wire_key(key, i) + " value=" + pieces[i], "put_result");
        if (reply.number("rc") != 0) {
          refuse("refused key '" + key + "': " + pmi1::printable(reply.text("msg")));
        }
      }
    });
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    std::vector<std::string> pieces;
    bool found = true;
    session_.run("get", [&] {
      size_t count = 1;
      for (size_t i = 0; i < count && found; ++i) {
        const message reply = ask("cmd=get kvsname=" + kvsname_ + " key=" + wire_key(key, i), "get_result");
        if (reply.number("rc") != 0) {
          if (i > 0) refuse("lost a part of the value of key '" + key + "'");
          found = false;
          break;
        }
        pieces.push_back(reply.text("value"));
        if (i > 0) continue;
        const auto parsed = pmi1::piece_count(pieces[0]);
        if (!parsed) refuse("returned a garbled value for key '" + key + "'");
        count = *parsed;
      }
    });
    if (!found) {
      throw bootstrap_error(missing_key(key, owner));
    }
    auto value = pmi1::from_pieces(pieces);
    if (!value) session_.run("get", [&] { refuse("returned a garbled value for key '" + key + "'"); });
    return *value;
  }

  std::vector<std::string> get_all(const std::string& prefix) override {
    // Other launchers may not accept a request before they have answered the previous one.
    if (!kvsname_.starts_with(pmi1::lcirun_job)) return bootstrap::get_all(prefix);
    check_bootstrap_key("get", prefix + std::to_string(size_));
    std::vector<std::string> first(static_cast<size_t>(size_));
    session_.run("get", [&] { get_first_pieces(prefix, first); });
    for (int r = 0; r < size_; ++r) {
      // get() handles values that are missing, garbled or in several pieces.
      auto value = pmi1::from_pieces({first[static_cast<size_t>(r)]});
      first[static_cast<size_t>(r)] = value ? *std::move(value) : get(prefix + std::to_string(r), r);
    }
    return first;
  }

  void fence() override {
    session_.run("fence", [&] {
      const message reply = enter_barrier();
      if (reply.find("rc") != nullptr && reply.number("rc") != 0) {
        refuse("reports a failed barrier: " + pmi1::printable(reply.text("msg")));
      }
    });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank_, code, message);
    try {
      if (session_.usable()) {
        channel_->set_timeout(timeout_ > 0 ? std::min(timeout_, 5.0) : 5.0);
        channel_->send("cmd=abort exitcode=" + std::to_string(code) + "\n");
      }
    } catch (const std::exception&) {
      // The launcher has ended, or this rank has no memory for the message to it: exit all the same.
    }
    _exit(code);
  }

 private:
  /// Pipelines the requests: the launcher serves all ranks, so each answer takes a while.
  void get_first_pieces(const std::string& prefix, std::vector<std::string>& pieces) {
    constexpr size_t at_a_time = 32;
    for (size_t begin = 0; begin < pieces.size(); begin += at_a_time) {
      const size_t end = std::min(begin + at_a_time, pieces.size());
      std::string requests;
      for (size_t r = begin; r < end; ++r) {
        requests += "cmd=get kvsname=" + kvsname_ + " key=" + wire_key(prefix + std::to_string(r), 0) + "\n";
      }
      session_.begin_exchange();
      channel_->send(requests);
      for (size_t r = begin; r < end; ++r) {
        const message reply = read_reply("get_result");
        if (reply.number("rc") == 0) insist_on_memory([&] { pieces[r] = reply.text("value"); });
      }
      session_.end_exchange();
    }
  }

  /// If the launcher can tell, names the ranks that have not arrived.
  message enter_barrier() {
    try {
      return ask("cmd=barrier_in", "barrier_out");
    } catch (const pmi1::no_answer& late) {
      if (!kvsname_.starts_with(pmi1::lcirun_job)) throw;
      std::string missing;
      try {
        channel_->set_timeout(1);
        missing = ask("cmd=" + std::string(pmi1::ask_missing), pmi1::missing_reply.data()).text("ranks");
      } catch (const bootstrap_error&) {
        throw late;
      }
      std::replace(missing.begin(), missing.end(), '_', ' ');
      throw bootstrap_error("of " + std::to_string(size_) + " ranks these did not come within " +
                            seconds_text(timeout_) + ": " + pmi1::printable(missing) +
                            "; LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to wait");
    }
  }

  void open_fd() {
    const int fd = need_number("PMI_FD", 0, pmi1_group);
    rank_ = need_number("PMI_RANK", 0, pmi1_group);
    size_ = need_number("PMI_SIZE", 1, pmi1_group);
    check_rank(rank_, size_, pmi1_source);
    where_ = "PMI_FD=" + std::to_string(fd);
    channel_.emplace(duplicate_pmi_fd(fd), timeout_);
  }

  void open_port() {
    const std::string id = need_text("PMI_ID", "PMI_PORT and PMI_ID");
    const std::string port = env_text("PMI_PORT");
    where_ = "PMI_PORT=" + pmi1::printable(port);
    session_.describe(where_, rank_, size_);
    channel_.emplace(pmi1::channel::connect_to(port, timeout_), timeout_);
    session_.run("connect", [&] {
      check_reply(ask("cmd=initack pmiid=" + id, "initack"));
      bool debug_seen = false;
      while (rank_ < 0 || size_ < 0 || !debug_seen) {
        const message reply = read_reply("set");
        if (reply.find("size") != nullptr) size_ = reply.number("size").value_or(-2);
        if (reply.find("rank") != nullptr) rank_ = reply.number("rank").value_or(-2);
        debug_seen = debug_seen || reply.find("debug") != nullptr;
        if (rank_ == -2 || size_ == -2) refuse("sent a rank or size that is no number");
      }
    });
    check_rank(rank_, size_, pmi1_source);
  }

  [[noreturn]] static void throw_no_connection() {
    std::string set;
    for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_ID"}) {
      if (env_text(name) != nullptr) set += (set.empty() ? "" : ", ") + std::string(name);
    }
    throw bootstrap_error("neither PMI_FD nor PMI_PORT is set" +
                          (set.empty() ? "" : ", although " + set + " is: incomplete environment") + "; " +
                          bootstrap_remedy);
  }

  void init() {
    check_reply(ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"));
    const message maxes = ask("cmd=get_maxes", "maxes");
    const int key_max = maxes.number("keylen_max").value_or(-1);
    const int value_max = maxes.number("vallen_max").value_or(-1);
    // 8 bytes: the suffix with the number of a piece, and the terminating zero.
    constexpr size_t longest_key = max_bootstrap_key + sizeof key_prefix + 8;
    if (key_max < int(longest_key) || value_max < 128) {
      refuse("grants keys of " + std::to_string(key_max) + " and values of " + std::to_string(value_max) +
             " bytes, which is too little or no answer");
    }
    const message name = ask("cmd=get_my_kvsname", "my_kvsname");
    kvsname_ = name.text("kvsname");
    if (kvsname_.empty() || kvsname_.size() >= pmi1::kvsname_max) {
      refuse("named no key-value space, or one with too long a name");
    }
    const size_t around = std::strlen("cmd=put kvsname= key= value=\n") + kvsname_.size() + longest_key;
    piece_length_ = std::min({size_t(value_max) - 1, pmi1::value_max - 1, safe_line - around});
  }

  void check_reply(const message& reply) {
    if (reply.find("rc") != nullptr && reply.number("rc") != 0) {
      refuse("refused: " + pmi1::printable(reply.text("msg")));
    }
  }

  /// Piece 0 is stored under the key itself, the others under names that are no valid keys.
  static std::string wire_key(const std::string& key, size_t piece) {
    std::string text = key_prefix + key;
    if (piece > 0) text += "+" + std::to_string(piece);
    return text;
  }

  message ask(const std::string& request, const char* expected) {
    const std::string line = request + "\n";
    session_.begin_exchange();
    channel_->send(line);
    message reply = read_reply(expected);
    session_.end_exchange();
    return reply;
  }

  /// Waits for memory if there is none: a session whose answer stays unread is broken.
  message read_reply(const char* expected) {
    const std::string line = channel_->receive();
    std::string why;
    auto reply = insist_on_memory([&] { return message::parse(line, why); });
    if (!reply) refuse("sent " + why + ": '" + pmi1::printable(line) + "'");
    if (reply->text("cmd") != expected) {
      refuse("sent '" + pmi1::printable(line) + "' where cmd=" + expected + " was due");
    }
    return *std::move(reply);
  }

  [[noreturn]] static void refuse(const std::string& what) { throw bootstrap_error("the launcher " + what); }

  session session_{"pmi1"};
  int rank_ = -1, size_ = -1;
  double timeout_ = 0;
  std::string where_, kvsname_;
  size_t piece_length_ = 0;
  std::optional<pmi1::channel> channel_;
};

bool pmi1_detected() {
  for (const char* name : {"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID"}) {
    if (env_text(name) != nullptr) return true;
  }
  return false;
}

std::unique_ptr<bootstrap> create_pmi1() { return std::make_unique<pmi1_bootstrap>(); }

}  // namespace

const bootstrap_kind pmi1_kind = {"pmi1", pmi1_detected, create_pmi1};

}  // namespace lci::network
