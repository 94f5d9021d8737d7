// Ranks without a launcher or a network: processes that share a folder meet in a file there, and get their ranks in the
// order in which they join.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/job_file.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/session.hpp"

namespace lci::network {

namespace {

constexpr char file_group[] = "LCT_PMI_BACKEND=file, LCT_PMI_FILE_NRANKS and LCT_PMI_FILE_NAME";
constexpr int most_file_ranks = 65536;  // each has a byte of the file to lock

/// Relative to the folder in which the program was started.
std::string file_name() {
  const char* given = env_text("LCT_PMI_FILE_NAME");
  return (given == nullptr ? std::string("lct_pmi_file") : std::string(given)) + ".job";
}

int file_ranks() {
  const int n = need_number("LCT_PMI_FILE_NRANKS", 1, file_group);
  if (n > most_file_ranks)
    throw bootstrap_error("LCT_PMI_FILE_NRANKS=" + std::to_string(n) + " is more than " +
                          std::to_string(most_file_ranks) + "; " + bootstrap_remedy);
  return n;
}

// --- pairs of a key and its value, each preceded by its length ---

void append_text(std::string& to, const std::string& text) {
  const auto size = static_cast<uint32_t>(text.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to += text;
}

std::string take_text(const std::string& from, size_t& at) {
  uint32_t size = 0;
  if (from.size() - at < sizeof size) throw bootstrap_error("a rank has written invalid data");
  std::memcpy(&size, from.data() + at, sizeof size);
  at += sizeof size;
  if (size > from.size() - at) throw bootstrap_error("a rank has written invalid data");
  at += size;
  return from.substr(at - size, size);
}

class file_bootstrap final : public bootstrap {
 public:
  file_bootstrap() : size_(file_ranks()) {
    const std::string name = file_name();
    session_.describe(name, -1, size_);
    session_.run("join", [&] { file_ = std::make_unique<job_file>(name, size_, bootstrap_timeout()); });
    session_.describe(name, file_->rank(), size_);
    fence();  // waits for all ranks; throws with the names of those missing
  }

  ~file_bootstrap() override {
    if (!session_.mine()) file_->abandon();
  }

  const char* name() const override { return "file"; }
  int rank() const override { return file_->rank(); }
  int size() const override { return size_; }
  std::string job_id() const override { return file_->job_id(); }
  std::optional<host_place> locality() const override {
    return size_ == 1 ? std::optional<host_place>({0, 1}) : std::nullopt;
  }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    session_.run("put", [&] {
      std::string both;
      append_text(both, key);
      append_text(both, value);
      pending_ += both;
    });
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    const auto at = visible_.find(key);
    if (at == visible_.end()) throw bootstrap_error(missing_key(key, owner));
    return at->second;
  }

  void fence() override {
    session_.run("fence", [&] {
      session_.begin_exchange();
      const std::string all = file_->share(pending_);
      pending_.clear();
      insist_on_memory([&] {
        for (size_t at = 0; at < all.size();) {
          const std::string key = take_text(all, at);
          visible_[key] = take_text(all, at);
        }
      });
      session_.end_exchange();
    });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank(), code, message);
    try {
      if (session_.usable()) file_->abort(code);
    } catch (const std::exception&) {
      // The other ranks detect that this one has ended.
    }
    _exit(code);
  }

 private:
  session session_{"file"};
  const int size_;
  std::unique_ptr<job_file> file_;
  std::string pending_;
  std::map<std::string, std::string> visible_;
};

bool file_detected() { return env_text("LCT_PMI_FILE_NRANKS") != nullptr; }

std::unique_ptr<bootstrap> create_file() { return std::make_unique<file_bootstrap>(); }

}  // namespace

const bootstrap_kind file_kind = {"file", file_detected, create_file};

}  // namespace lci::network
