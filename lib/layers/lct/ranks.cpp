// The functions LCT_pmi_*. They use LCI's session with the launcher: a process can have only one.
#include <lct.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "lci/job.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace {

/// State between the first LCT_pmi_initialize and the last LCT_pmi_finalize.
struct session {
  std::mutex mutex;
  int users = 0;       // under mutex, as are the following members
  int generation = 0;  // number of sessions: keeps their keys apart
  lci::detail::job_place place{-1, -1};
  std::set<std::string> published;
};
session& the_session() {
  static session& s = *new session;  // never freed: destructors of the program's static objects may use it
  return s;
}

/// The session, locked. Ends the process if there is none.
class in_session {
 public:
  explicit in_session(const char* function) : guard_(the_session().mutex) {
    if (the_session().users == 0) lct::fail(function, "call LCT_pmi_initialize first");
  }
  session* operator->() { return &the_session(); }
  void unlock() { guard_.unlock(); }

 private:
  std::unique_lock<std::mutex> guard_;
};

/// The key for the launcher, which accepts at most 48 characters from a small set. All ranks and sessions share one
/// name space, so it consists of the rank and a 128-bit hash of session and user's key. The value contains the user's
/// whole key, by which a reader detects a collision.
std::string short_key(int generation, int rank, const std::string& user_key) {
  const std::string key = std::to_string(generation) + ":" + user_key;
  std::string text = "lct-" + std::to_string(rank) + "-";
  for (uint64_t hash : {0xcbf29ce484222325u, 0x84222325cbf29ce4u}) {
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    text += digits;
  }
  return text;
}

std::string text_of(const char* function, const char* argument, const char* text) {
  lct::require(function, argument, text);
  const size_t n = strnlen(text, LCT_PMI_STRING_LIMIT);
  if (n == LCT_PMI_STRING_LIMIT)
    lct::fail(function, "%s has %d bytes or more, but must be shorter", argument, LCT_PMI_STRING_LIMIT);
  return {text, n};
}

}  // namespace

void LCT_pmi_initialize() {
  lct::or_fail("LCT_pmi_initialize", [] {
    session& s = the_session();
    std::lock_guard guard(s.mutex);
    if (s.users == 0) {
      s.place = lci::detail::join_job();
      ++s.generation;
      if (LCT_rank < 0) LCT_rank = s.place.rank;
    }
    ++s.users;
  });
}

int LCT_pmi_initialized() {
  return lct::or_fail("LCT_pmi_initialized", [] {
    std::lock_guard guard(the_session().mutex);
    return the_session().users > 0 ? 1 : 0;
  });
}

int LCT_pmi_get_rank() {
  return lct::or_fail("LCT_pmi_get_rank", [] { return in_session("LCT_pmi_get_rank")->place.rank; });
}
int LCT_pmi_get_size() {
  return lct::or_fail("LCT_pmi_get_size", [] { return in_session("LCT_pmi_get_size")->place.size; });
}

void LCT_pmi_publish(char* key, char* value) {
  constexpr const char* me = "LCT_pmi_publish";
  lct::or_fail(me, [&] {
    const std::string k = text_of(me, "key", key), v = text_of(me, "value", value);
    in_session s(me);
    if (!s->published.insert(k).second)
      lct::fail(me, "key = '%s' has been published already: publish each key once", k.c_str());
    lci::detail::put_in_job(short_key(s->generation, s->place.rank, k), k + '\0' + v);
  });
}

void LCT_pmi_getname(int rank, char* key, char* value) {
  constexpr const char* me = "LCT_pmi_getname";
  lct::or_fail(me, [&] {
    const std::string k = text_of(me, "key", key);
    lct::require(me, "value", value);
    in_session s(me);
    if (rank < 0 || rank >= s->place.size) lct::fail(me, "rank = %d, but must be 0..%d", rank, s->place.size - 1);
    std::string record;
    try {
      record = lci::detail::get_from_job(short_key(s->generation, rank, k), rank);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      lct::fail(me, "can't get key = '%s' of rank %d; is there an LCT_pmi_barrier between LCT_pmi_publish and this? %s",
                k.c_str(), rank, e.what());
    }
    const std::string begin = k + '\0';
    if (record.compare(0, begin.size(), begin) != 0 || record.size() - begin.size() >= LCT_PMI_STRING_LIMIT)
      lct::fail(me, "the value that rank %d has published is not for key '%s': all ranks must run the same version",
                rank, k.c_str());
    std::memcpy(value, record.c_str() + begin.size(), record.size() - begin.size() + 1);
  });
}

void LCT_pmi_barrier() {
  constexpr const char* me = "LCT_pmi_barrier";
  lct::or_fail(me, [] {
    { in_session s(me); }
    lci::detail::fence_of_job();  // unlocked: other threads may query rank and size meanwhile
  });
}

void LCT_pmi_finalize() {
  constexpr const char* me = "LCT_pmi_finalize";
  lct::or_fail(me, [] {
    in_session s(me);
    // The session with the launcher ends with the process, since LCI may still need it.
    if (--s->users == 0) s->published.clear();
  });
}
