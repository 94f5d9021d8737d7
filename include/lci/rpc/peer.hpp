// Peers: processes whose functions can be called.
#pragma once

#include <memory>
#include <string>

#include "lci/rpc/library.hpp"

namespace lci::rpc {

class engine;
class context;
template <class Signature>
class function;
template <class R>
class handle;
template <class R, class... Stored>
class prepared_call;

/// A connected process, or this one. A value: copies name the same process. Thread-safe except for assignment. May
/// outlive its engine; then calls throw.
class LCI_API peer {
 public:
  /// No peer; calls throw lci::invalid_argument_error.
  peer() = default;
  explicit operator bool() const { return state_ != nullptr; }
  /// The URL for engine::connect(). Useful only if the process accepts connections.
  std::string url() const;
  friend bool operator==(const peer& a, const peer& b) { return a.address() == b.address(); }
  friend bool operator!=(const peer& a, const peer& b) { return !(a == b); }

 private:
  friend class engine;
  friend class context;
  template <class Signature>
  friend class function;
  template <class R>
  friend class handle;
  template <class R, class... Stored>
  friend class prepared_call;
  struct state;
  peer(std::shared_ptr<detail::engine_core> e, void* address, bool owned);
  static peer caller_of(detail::incoming& in);
  void* address() const;
  /// The address for a call by this engine. Throws lci::invalid_argument_error if this is no peer, or a peer of another
  /// engine.
  void* address_for(const detail::engine_core& e) const;

  std::shared_ptr<const state> state_;
};

}  // namespace lci::rpc
