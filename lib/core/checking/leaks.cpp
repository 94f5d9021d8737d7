// Reports objects that were never freed, with the line of the program that allocated them.
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/inspection.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

namespace {

void note(const void* object, const char* operation, const char* name, runtime_t of, const void* caller) {
  object_origin origin;
  origin.operation = operation;
  origin.name = name == nullptr ? "" : name;
  origin.owner = of.is_empty() ? g_default_runtime.load(std::memory_order_acquire) : of.p_impl;
  if (watched_for(calls_are_checked)) {
    std::array<void*, 32> all;
    const int n = backtrace(all.data(), static_cast<int>(all.size()));
    int first = 0;  // skips the library's own frames
    while (first < n && all[static_cast<size_t>(first)] != caller) ++first;
    if (first == n) first = 0;
    for (int i = first; i < n && origin.n_calls < static_cast<int>(origin.calls.size()); ++i)
      origin.calls[static_cast<size_t>(origin.n_calls++)] = all[static_cast<size_t>(i)];
  }
  objects::add(object, std::move(origin));
}

}  // namespace

// Insists on memory: the object exists already, and peers may rely on it.
void note_allocated(const void* object, const char* operation, const char* name, runtime_t of, const void* caller) {
  insist_on_memory([&] { note(object, operation, name, of, caller); });
}

void require_alive(const char* operation, const char* argument, const void* object) {
  if (object != nullptr && !objects::is_alive(object))
    throw_invalid(operation, argument, "not an object of the program, or one that was freed",
                  "an object that the program has allocated and not yet freed",
                  "it may have been freed through a copy of the handle, or belong to the library");
}

namespace {

/// The file and offset of a code address, from the dynamic linker.
struct place_in_file {
  std::string file;
  uintptr_t offset = 0;
  std::string function;
};

place_in_file place_of(void* call) {
  place_in_file place;
  Dl_info info;
  // One byte back: a return address is that of the instruction after the call.
  void* const at = static_cast<char*>(call) - 1;
  if (dladdr(at, &info) == 0 || info.dli_fname == nullptr) return place;
  place.file = info.dli_fname;
  place.offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (info.dli_sname != nullptr) place.function = info.dli_sname;
  return place;
}

/// The innermost source line outside of the library's headers, found by the system's addr2line in the
/// program's debug information; empty without either.
std::string line_of(const place_in_file& place) {
  if (place.file.find('\'') != std::string::npos) return {};
  char offset[32];
  std::snprintf(offset, sizeof offset, "0x%zx", static_cast<size_t>(place.offset));
  const std::string command = "addr2line -i -e '" + place.file + "' " + offset + " 2>/dev/null";
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return {};
  std::string found;
  char line[1024];
  while (std::fgets(line, sizeof line, out) != nullptr) {
    std::string text(line);
    if (const auto end = text.find_first_of("\n ("); end != std::string::npos) text.resize(end);
    const bool ours = text.find("/lci/") != std::string::npos && text.find(".hpp") != std::string::npos;
    // Without debug information addr2line prints question marks.
    if (found.empty() && text.find('?') == std::string::npos && !ours) found = text;
  }
  pclose(out);
  return found;
}

std::string where(const object_origin& o) {
  std::string fallback, file;  // `file`: the program or library that called
  for (int i = 0; i < o.n_calls; ++i) {
    const place_in_file place = place_of(o.calls[static_cast<size_t>(i)]);
    if (file.empty()) file = place.file;
    if (place.file.empty() || place.file != file) continue;
    std::string line = line_of(place);
    if (!line.empty()) return line;
    if (!fallback.empty()) continue;
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%zx", static_cast<size_t>(place.offset));
    fallback = place.file + offset;
    if (!place.function.empty()) fallback += " (" + place.function + ")";
  }
  return fallback.empty() ? "an unknown place" : fallback;
}

}  // namespace

void report_leaks(const runtime& of) {
  for (const object_origin& o : objects::alive_of(&of))
    log_warning(std::string("check: ") + "the object from " + o.operation + ", named '" + o.name +
                "', was not freed before its runtime; it was allocated at " + where(o));
}

}  // namespace lci::core
