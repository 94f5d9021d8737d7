// Variables for a library that can be told things in no other way, without touching the program's own.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

extern "C" char** environ;

namespace lci::network::ofi {

/// A few variables that the process's environment has only while a `window` exists; those that the program has
/// set itself stay as they are. Not setenv(): it may free what another thread's getenv() is just reading, and what
/// it adds stays, for the program and its children to see. Here `environ` points to a longer list for a moment.
/// Another thread finds the one list or the other, both whole; only what it changes by setenv() or unsetenv() in
/// that moment may be lost. Thread-safe; to be kept for good, for who has read a variable may keep the pointer.
class extended_environment {
 public:
  /// Each as NAME=value.
  explicit extended_environment(std::vector<std::string> more);

  class window {
   public:
    explicit window(extended_environment& environment) : environment_(environment) { environment_.open(); }
    ~window() { environment_.close(); }
    window(const window&) = delete;
    window& operator=(const window&) = delete;

   private:
    extended_environment& environment_;
  };

 private:
  struct lists {
    char** own;
    std::vector<char*> all;
  };

  void open();
  void close();
  std::vector<char*> extended();

  std::vector<std::string> more_;
  std::mutex mutex_;          // for what follows
  int windows_ = 0;           // of all threads
  std::deque<lists> lists_;   // a new one when the program has changed its own since; the last one is in force
};

}  // namespace lci::network::ofi
