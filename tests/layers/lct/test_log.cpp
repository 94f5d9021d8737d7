// Which lines a log prints, where, and that lines of many threads are not mixed.
#include <lct.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/threads.hpp"

namespace {

const char* const names[] = {"error", "warn", "diag", "info", "debug", "trace"};

/// A log that writes to a file of its own.
class log_to_file {
 public:
  explicit log_to_file(const char* level, const char* whitelist = nullptr, const char* blacklist = nullptr) {
    char folder[] = "/tmp/lct-log-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    folder_ = folder;
    // The interface takes char*, but changes nothing.
    ctx_ = LCT_log_ctx_alloc(names, LCT_LOG_MAX, LCT_LOG_INFO, "mine", (folder_ + "/log.%").data(),
                             const_cast<char*>(level), const_cast<char*>(whitelist), const_cast<char*>(blacklist));
    REQUIRE(ctx_ != nullptr);
  }
  ~log_to_file() {
    LCT_log_ctx_free(&ctx_);
    std::filesystem::remove_all(folder_);
  }
  log_to_file(const log_to_file&) = delete;
  log_to_file& operator=(const log_to_file&) = delete;
  operator LCT_log_ctx_t() const { return ctx_; }

  std::vector<std::string> lines() const {
    LCT_Log_flush(ctx_);
    std::vector<std::string> all;
    std::ifstream in(folder_ + "/log." + std::to_string(LCT_rank));
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

 private:
  std::string folder_;
  LCT_log_ctx_t ctx_;
};

bool ends_with(const std::string& line, const std::string& end) {
  return line.size() >= end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0;
}

void log_list(LCT_log_ctx_t ctx, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  LCT_Logv(ctx, LCT_LOG_INFO, "list", format, arguments);
  va_end(arguments);
}

}  // namespace

TEST_CASE("lines up to the level are printed with file and line", "[log]") {
  log_to_file log(nullptr);
  CHECK(LCT_log_get_level(log) == LCT_LOG_INFO);
  LCT_Log(log, LCT_LOG_INFO, "tag", "number %d", 7);
  const int line = __LINE__ - 1;
  LCT_Log(log, LCT_LOG_DEBUG, "tag", "not this");
  LCT_Warn(log, "warned\n");
  log_list(log, "of %s", "arguments");
  LCT_Assert(log, 1 + 1 == 2, "not this");
  const auto lines = log.lines();
  REQUIRE(lines.size() == 3);
  CHECK(ends_with(lines[0],
                  ":mine:info:tag:test_log.cpp:" + std::string(__func__) + ":" + std::to_string(line) + ": number 7"));
  CHECK(lines[1].find(":mine:warn::") != std::string::npos);
  CHECK(ends_with(lines[1], ": warned"));
  CHECK(ends_with(lines[2], ": of arguments"));
}

TEST_CASE("the arguments of a line that is not printed are not evaluated", "[log]") {
  log_to_file log("error");
  int computed = 0;
  LCT_Log(log, LCT_LOG_WARN, "tag", "%d", ++computed);
  LCT_DBG_Log(log, LCT_LOG_ERROR, "tag", "%d", ++computed);  // LCT_DEBUG is not defined
  LCT_DBG_Warn(log, "%d", ++computed);
  LCT_DBG_Assert(log, ++computed == 0, "no");
  CHECK(computed == 0);
  CHECK(log.lines().empty());
}

TEST_CASE("levels have names in any case, and an unknown name selects the default", "[log]") {
  CHECK(LCT_log_get_level(log_to_file("TRACE")) == LCT_LOG_TRACE);
  CHECK(LCT_log_get_level(log_to_file("")) == LCT_LOG_INFO);
  CHECK(LCT_log_get_level(log_to_file("loud")) == LCT_LOG_INFO);
}

TEST_CASE("a whitelist selects tags and a blacklist suppresses them", "[log]") {
  log_to_file white("info", "net, am"), black("info", nullptr, "net");
  for (const log_to_file* log : {&white, &black})
    for (const char* tag : {"net", "am", "network"}) LCT_Log(*log, LCT_LOG_INFO, tag, "%s!", tag);
  LCT_Warn(white, "no tag");
  auto lines = white.lines();
  REQUIRE(lines.size() == 3);
  CHECK(ends_with(lines[0], " net!"));
  CHECK(ends_with(lines[1], " am!"));
  CHECK(ends_with(lines[2], " no tag"));
  lines = black.lines();
  REQUIRE(lines.size() == 2);
  CHECK(ends_with(lines[0], " am!"));
  CHECK(ends_with(lines[1], " network!"));
}

TEST_CASE("long lines are printed completely", "[log]") {
  log_to_file log(nullptr);
  for (size_t n : {300, 400, 500, 511, 512, 513, 5000, 100000})
    LCT_Log(log, LCT_LOG_INFO, "t", "%s", std::string(n, 'x').c_str());
  size_t i = 0;
  const auto lines = log.lines();
  for (size_t n : {300, 400, 500, 511, 512, 513, 5000, 100000})
    CHECK(ends_with(lines.at(i++), ": " + std::string(n, 'x')));
}

TEST_CASE("lines of many threads are not mixed", "[log][threads]") {
  log_to_file log(nullptr);
  constexpr int threads = 4, each = 500;
  lci_test::in_threads(threads, [&](int me) {
    for (int i = 0; i < each; ++i) LCT_Log(log, LCT_LOG_INFO, "t", "line %d of %d", i, me);
    return 0;
  });
  std::set<std::string> said;
  for (const std::string& line : log.lines()) said.insert(line.substr(line.rfind(": ") + 2));
  CHECK(said.size() == threads * each);
  CHECK(said.count("line 499 of 3") == 1);
}

TEST_CASE("a log whose file can't be opened is written to stderr; the default log is allocated and freed", "[log]") {
  char name[] = "/nowhere/at/all";
  LCT_log_ctx_t log = LCT_log_ctx_alloc(names, LCT_LOG_MAX, LCT_LOG_INFO, "lost", name, nullptr, nullptr, nullptr);
  LCT_Log(log, LCT_LOG_INFO, "t", "to standard error");
  LCT_Log_flush(log);
  LCT_log_ctx_free(&log);
  CHECK(log == nullptr);

  CHECK(LCT_log_ctx_default == nullptr);
  CHECK(LCT_log_get_level(nullptr) == LCT_LOG_WARN);
  LCT_Log_flush(nullptr);
  LCT_init();
  LCT_init();
  CHECK(LCT_log_ctx_default != nullptr);
  char host[HOST_NAME_MAX + 1] = "";
  REQUIRE(gethostname(host, sizeof host) == 0);
  CHECK(std::string(LCT_hostname) == host);
  LCT_fina();
  CHECK(LCT_log_ctx_default != nullptr);
  LCT_fina();
  CHECK(LCT_log_ctx_default == nullptr);
}
