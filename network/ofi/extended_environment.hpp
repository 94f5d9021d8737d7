// Environment variables for a library that has no other configuration interface, without changing the program's own.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

extern "C" char** environ;

namespace lci::network::ofi {

/// A few variables that the process's environment contains only while a `window` exists; variables that the program has
/// set itself are not replaced. setenv() is no alternative: it may free a string that another thread's getenv() is
/// reading, and what it adds stays visible to the program and its children. Instead, `environ` temporarily points to a
/// longer list. Another thread sees either list, both complete; only a change it makes by setenv() or unsetenv() in
/// that time may be lost. Thread-safe. Must never be destroyed, since a reader of a variable may keep the pointer.
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
  std::mutex mutex_;         // protects the following
  int windows_ = 0;          // open in all threads
  std::deque<lists> lists_;  // a new one if the program has changed its environment since; the last one is in use
};

}  // namespace lci::network::ofi
