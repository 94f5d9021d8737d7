// The first message of a connection, by which the accepting process learns who has connected.
#pragma once

#include "lci.hpp"
#include "lib/layers/na/identity.hpp"

struct na_class;

namespace na {

/// In a message of fixed size.
struct greeting {
  static constexpr uint64_t version = 0x4e4120677265;  // changed with this struct

  uint64_t magic = version;
  identity who{};
  char name[256] = {};
};

/// Receives greetings. A connection's process posts no other message before its greeting has been handled, so whoever
/// receives a message knows its sender.
class greetings final : public lci::comp_impl_t {
 public:
  explicit greetings(na_class& c);
  void signal(lci::status_t status) override;

 private:
  na_class& class_;
};

}  // namespace na
