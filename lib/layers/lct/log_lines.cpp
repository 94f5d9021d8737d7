// The functions of logs: allocation, and printing of lines.
#include <lct.h>
#include <strings.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/layers/lct/log.hpp"

namespace {

constexpr const char* a_log = "a log";

/// Level and level names used without a log.
constexpr int level_without_log = LCT_LOG_WARN;
const char* const names_without_log[] = {"error", "warn"};

lct::log* log_of(const char* function, LCT_log_ctx_t ctx) {
  return ctx != nullptr ? &lct::get<lct::log>(function, a_log, ctx) : nullptr;
}

/// The level named by `text`; the default for an empty or unknown name.
int level_of(const char* const levels[], int count, int default_level, const char* text) {
  if (text == nullptr || *text == '\0') return default_level;
  std::string names;
  for (int i = 0; i < count; ++i) {
    if (levels[i] == nullptr) continue;
    if (strcasecmp(levels[i], text) == 0) return i;
    names += std::string(names.empty() ? "" : ", ") + levels[i];
  }
  LCT_Warn(nullptr, "log level '%s' is none of: %s", text, names.c_str());
  return default_level;
}

/// A line in a buffer, which grows if necessary; without memory, the line is truncated.
class line_buffer {
 public:
  ~line_buffer() {
    if (text_ != own_) std::free(text_);
  }
  line_buffer() = default;
  line_buffer(const line_buffer&) = delete;
  line_buffer& operator=(const line_buffer&) = delete;

  [[gnu::format(printf, 2, 3)]] void append(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    append_v(format, arguments);
    va_end(arguments);
  }
  void append_v(const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int n = std::vsnprintf(text_ + size_, room_ - size_, format, arguments);
    if (n > 0 && static_cast<size_t>(n) >= room_ - size_ && grow(static_cast<size_t>(n) + 2)) {
      std::vsnprintf(text_ + size_, room_ - size_, format, again);
    }
    if (n > 0) size_ = std::min(size_ + static_cast<size_t>(n), room_ - 1);
    va_end(again);
  }
  void end_line() {
    if (size_ > 0 && text_[size_ - 1] == '\n') return;
    if (size_ + 1 >= room_) --size_;  // already truncated
    text_[size_++] = '\n';
  }
  const char* data() const { return text_; }
  size_t size() const { return size_; }

 private:
  bool grow(size_t by) {
    char* larger = static_cast<char*>(std::malloc(size_ + by));
    if (larger == nullptr) return false;
    std::memcpy(larger, text_, size_);
    if (text_ != own_) std::free(text_);
    text_ = larger;
    room_ = size_ + by;
    return true;
  }

  char own_[512];
  char* text_ = own_;
  size_t size_ = 0, room_ = sizeof own_;
};

void print(lct::log* log, const line_buffer& line) {
  if (log != nullptr) return log->print(line.data(), line.size());
  [[maybe_unused]] const size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
}

/// host:rank:thread:log:level:tag:file:function:line: text
void begin(line_buffer& line, lct::log* log, const char* level, const char* tag, const char* file, const char* func,
           int number) {
  const char* name = std::strrchr(file, '/');
  line.append("%s:%d:%d:%s:%s:%s:%s:%s:%d: ", LCT_hostname, LCT_rank, LCT_get_thread_id(),
              log != nullptr ? log->name() : "", level, tag != nullptr ? tag : "", name != nullptr ? name + 1 : file,
              func, number);
}

}  // namespace

LCT_log_ctx_t LCT_log_ctx_alloc(const char* const levels[], int count, int default_level, const char* name,
                                char* filename, char* level_str, char* whitelist, char* blacklist) {
  constexpr const char* me = "LCT_log_ctx_alloc";
  if (count < 0 || (count > 0 && levels == nullptr))
    lct::fail(me, "count = %d, but must be the number of levels", count);
  return lct::or_null(me, [&] {
    const int level = level_of(levels, count, default_level, level_str);
    return new lct::log({levels, count, level, name, filename, whitelist, blacklist});
  });
}

void LCT_log_ctx_free(LCT_log_ctx_t* ctx) { lct::release<lct::log>("LCT_log_ctx_free", a_log, ctx); }

int LCT_log_get_level(LCT_log_ctx_t ctx) {
  const lct::log* log = log_of("LCT_log_get_level", ctx);
  return log != nullptr ? log->level() : level_without_log;
}

void LCT_Logv_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
               const char* format, va_list arguments) {
  lct::log* log = log_of("LCT_Logv_", ctx);
  if (log != nullptr ? !log->lets_pass(level, tag) : level > level_without_log) return;
  lct::or_fail("LCT_Logv_", [&] {
    line_buffer text;
    begin(text, log,
          log != nullptr ? log->name_of(level)
          : level < 0    ? "?"
                         : names_without_log[level],
          tag, file, func, line);
    text.append_v(format, arguments);
    text.end_line();
    print(log, text);
  });
}

void LCT_Log_(LCT_log_ctx_t ctx, int level, const char* tag, const char* file, const char* func, int line,
              const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  LCT_Logv_(ctx, level, tag, file, func, line, format, arguments);
  va_end(arguments);
}

void LCT_Report_false_assert(LCT_log_ctx_t ctx, const char* expr, const char* file, const char* func, int line,
                             const char* format, ...) {
  lct::log* log = log_of("LCT_Report_false_assert", ctx);
  line_buffer text;
  begin(text, log, "assert", nullptr, file, func, line);
  text.append("'%s' is false: ", expr);
  va_list arguments;
  va_start(arguments, format);
  text.append_v(format, arguments);
  va_end(arguments);
  text.end_line();
  lct::or_fail("LCT_Report_false_assert", [&] {
    print(log, text);
    if (log != nullptr) log->flush();
  });
  std::abort();
}

void LCT_Log_flush(LCT_log_ctx_t ctx) {
  lct::log* log = log_of("LCT_Log_flush", ctx);
  if (log == nullptr) return;
  lct::or_fail("LCT_Log_flush", [&] { log->flush(); });
}
