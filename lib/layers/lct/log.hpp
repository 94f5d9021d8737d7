// A log: filters lines by level and tag, and writes them to its output.
#pragma once

#include <lct.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "lib/layers/lct/misuse.hpp"
#include "lib/layers/lct/tag_list.hpp"

namespace lct {

/// Owns its file unless that is stdout or stderr; does not own the names of levels. Thread-safe. Writes each line by
/// one call, so that lines of threads, and usually of ranks, do not interleave.
class log : public object<0x5bafb109> {
 public:
  struct terms {
    const char* const* levels;
    int count, level;
    const char *name, *filename, *whitelist, *blacklist;
  };
  explicit log(const terms& t);
  ~log();

  int level() const { return level_; }
  bool lets_pass(int level, const char* tag) const;
  const char* name_of(int level) const;
  void print(const char* line, size_t size);
  void flush();

  const char* name() const { return name_.c_str(); }

 private:
  FILE* out();  // under mutex_

  const char* const* const levels_;
  const int count_, level_;
  const std::string name_, filename_;
  const tag_list whitelist_, blacklist_;
  std::mutex mutex_;
  FILE* out_ = nullptr;   // under mutex_; null until the first line
  bool is_ours_ = false;  // under mutex_: opened here, to be closed
};

}  // namespace lct
