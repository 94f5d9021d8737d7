#include "lib/layers/lct/log.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace lct {

log::log(const terms& t)
    : levels_(t.levels),
      count_(t.count),
      level_(t.level),
      name_(t.name != nullptr ? t.name : ""),
      filename_(t.filename != nullptr ? t.filename : ""),
      whitelist_(t.whitelist),
      blacklist_(t.blacklist) {}

log::~log() {
  if (out_ == nullptr) return;
  is_ours_ ? std::fclose(out_) : std::fflush(out_);
}

bool log::lets_pass(int level, const char* tag) const {
  if (level > level_) return false;
  if (tag == nullptr) return true;
  return (!whitelist_.is_given() || whitelist_.has(tag)) && !blacklist_.has(tag);
}

const char* log::name_of(int level) const {
  return level >= 0 && level < count_ && levels_[level] != nullptr ? levels_[level] : "?";
}

/// Opens the file at the first line, when the rank, which may be part of its name, is known.
FILE* log::out() {
  if (out_ != nullptr) return out_;
  if (filename_ == "stdout") return out_ = stdout;
  if (filename_.empty() || filename_ == "stderr") return out_ = stderr;
  std::string name;
  for (const char c : filename_) {
    if (c == '%') {
      name += std::to_string(LCT_rank);
    } else {
      name += c;
    }
  }
  out_ = std::fopen(name.c_str(), "we");
  is_ours_ = out_ != nullptr;
  if (is_ours_) return out_;
  std::fprintf(stderr, "lct: warning: the log can't be written to %s (%s), so it goes to standard error\n",
               name.c_str(), std::strerror(errno));
  return out_ = stderr;
}

void log::print(const char* line, size_t size) {
  std::lock_guard guard(mutex_);
  // Errors, such as a full disk, are ignored: logging must not stop the program.
  [[maybe_unused]] const size_t written = std::fwrite(line, 1, size, out());
}

void log::flush() {
  std::lock_guard guard(mutex_);
  if (out_ != nullptr) std::fflush(out_);
}

}  // namespace lct
