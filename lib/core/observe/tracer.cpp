#include "lib/core/observe/tracer.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/core/observe/trace_file.hpp"

namespace lci::core {

namespace {

/// Runtimes of one process with the same rank write to different files.
std::string choose_path(const std::string& prefix, int rank) {
  static std::mutex mutex;
  static auto& used = *new std::map<std::string, int>;
  const std::string base = prefix + "." + std::to_string(rank);
  std::lock_guard guard(mutex);
  const int before = used[base]++;
  return base + (before == 0 ? "" : "-" + std::to_string(before + 1)) + ".json";
}

std::FILE* open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file != nullptr) return file;
  throw resource_error("the trace can't be written to " + path + ": " + std::strerror(errno) +
                       "; LCI_TRACE (attribute `trace`) gives the first part of the path, e.g. "
                       "/tmp/run for /tmp/run.0.json");
}

}  // namespace

tracer::tracer(const std::string& prefix, int rank, size_t events_per_thread)
    : path_(choose_path(prefix, rank)), rank_(rank), limit_(events_per_thread), file_(open(path_)) {}

tracer::lane& tracer::own_lane() {
  const auto index = static_cast<size_t>(thread_index());
  if (lane* mine = lanes_.get(index); LCI_LIKELY(mine != nullptr)) return *mine;
  std::lock_guard guard(mutex_);
  if (lanes_.get(index) == nullptr) {
    auto made = std::make_unique<lane>();
    lanes_.put(index, made.get());
    (void)made.release();
  }
  return *lanes_.get(index);
}

uint32_t tracer::next_message() {
  static std::atomic<uint32_t> last{0};
  uint32_t number;
  do number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  while (number == 0);
  return number;
}

void tracer::add(const trace_event& e) noexcept {
  try {
    lane& mine = own_lane();
    std::lock_guard guard(mine.lock);
    if (mine.events.size() < limit_)
      mine.events.push_back(e);
    else
      mine.events[mine.added % limit_] = e;
    ++mine.added;
  } catch (const std::bad_alloc&) {
    without_memory_.fetch_add(1, std::memory_order_relaxed);
  }
}

tracer::~tracer() {
  trace_file out(file_, rank_);
  uint64_t dropped = without_memory_.load(std::memory_order_relaxed);
  for (size_t thread = 0; thread < lanes_.size(); ++thread) {
    const std::unique_ptr<lane> l(lanes_.get(thread));
    if (l == nullptr) continue;
    out.name_thread(thread);
    const size_t n = l->events.size();
    dropped += l->added - n;
    // The oldest event is where the next one would have been written.
    for (size_t i = 0; i < n; ++i) out.write(l->events[(l->added + i) % n], thread);
  }
  out.finish(dropped);
  const bool written = std::ferror(file_) == 0;
  if (std::fclose(file_) != 0 || !written)
    log_warning("the trace " + path_ + " is not complete: " + std::strerror(errno));
}

}  // namespace lci::core
