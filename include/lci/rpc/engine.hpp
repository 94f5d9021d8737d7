// An engine calls functions of peers, and executes functions that peers call.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "lci/rpc/bulk.hpp"
#include "lci/rpc/function.hpp"
#include "lci/rpc/handler.hpp"

namespace lci::rpc {

/// Optional arguments of an engine: `rpc::options().background().pool(4)`. Thread-bound.
class options {
 public:
  /// Peers can't connect to the engine. Default: they can.
  options& client() {
    listens_ = false;
    return *this;
  }
  /// The engine has a thread that makes progress and executes functions. Default: the program's threads do both, in
  /// run(), progress(), and while they wait for a result.
  options& background() {
    background_ = true;
    return *this;
  }
  /// Number of threads for functions with where::pool. Default: 0.
  options& pool(int threads) {
    pool_ = threads;
    return *this;
  }
  /// Largest number of bytes of arguments or result that the engine accepts from peers. It refuses larger ones with
  /// size_error before it allocates memory for them. Default: 1 GiB.
  options& largest(size_t bytes) {
    largest_ = bytes;
    return *this;
  }
  bool listens() const { return listens_; }
  bool has_background() const { return background_; }
  int pool() const { return pool_; }
  size_t largest() const { return largest_; }

 private:
  bool listens_ = true;
  bool background_ = false;
  int pool_ = 0;
  size_t largest_ = size_t{1} << 30;
};

/// Calls functions of peers, and executes functions that peers call. A process may have several, for different
/// networks. Thread-safe except for the destructor. Functions, peers, futures and bulks refer to their engine. After
/// its end they throw lci::invalid_argument_error; futures of calls that were outstanding throw cancelled_error.
class LCI_API engine {
 public:
  /// `url`: "tcp://host:port", "tcp://host" (the system chooses a port), "shm://", "self" (calls within the process
  /// only), and the other URLs of NA. Throws lci::invalid_argument_error if the URL is malformed, lci::resource_error
  /// if the engine can't use the network, or the system has no thread for it.
  explicit engine(const std::string& url, const options& o = options());
  /// Calls close(). In a function that the engine executes: the engine ends when that function has returned.
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// The URL by which peers connect() to this engine.
  std::string url() const;
  /// Connects to the engine, or the program of HG, with this URL. Throws peer_error if it can't be reached,
  /// cancelled_error if another thread closes this engine meanwhile, lci::invalid_argument_error if the URL is
  /// malformed.
  peer connect(const std::string& url) const;
  /// The peer that stands for this engine, for calls within the process.
  peer self() const;

  /// Registers `f`, which peers may then call by this name. Its parameter and result types are the signature. An
  /// additional first parameter may be a `const context&` or a handle<R>. A second definition of the name replaces the
  /// first for later calls. Returns the function, by which this engine calls it at peers.
  template <class F>
  auto define(const std::string& name, F f, where w = where::progress) const {
    using shape = detail::shape_of<typename detail::types_of<std::decay_t<F>>::type>;
    using handler = typename detail::handler_for<F, shape, shape::returned_type::is_coroutine>::type;
    detail::define(core(), name, shape::types::text(), std::make_unique<handler>(std::move(f)), w);
    return declare<typename shape::types::function_type>(name);
  }
  /// The same with name and signature of a procedure. A function of another type does not compile.
  template <class Signature, class F>
  auto define(const procedure<Signature>& p, F f, where w = where::progress) const {
    using shape = detail::shape_of<typename detail::types_of<std::decay_t<F>>::type>;
    using plain = typename detail::shape_of<Signature>::types::function_type;
    static_assert(detail::is_same_signature<plain, shape>,
                  "rpc: the function's parameters or result are not those of the procedure");
    return define(std::string(p.name), std::move(f), w);
  }

  /// A function that peers have defined: `e.declare<int(std::string, int)>("open")`.
  template <class Signature>
  auto declare(const std::string& name) const {
    using types = typename detail::shape_of<Signature>::types;
    return function<typename types::function_type>(share(), detail::declare(core(), name, types::text()));
  }
  template <class Signature>
  auto declare(const procedure<Signature>& p) const {
    return declare<Signature>(std::string(p.name));
  }

  /// A bulk of memory of this process, which peers may read and write. The memory must exist until all bulks of it, and
  /// all transfers of peers, have ended.
  bulk expose(void* data, size_t size, access a = access::read_write) const;
  /// The same for memory that peers may only read.
  bulk expose(const void* data, size_t size) const;
  template <class C, class T = std::remove_pointer_t<decltype(std::declval<C&>().data())>>
  bulk expose(C& container) const {
    static_assert(std::is_trivially_copyable_v<T>, "rpc: memory that peers transfer has trivially copyable elements");
    return expose(container.data(), container.size() * sizeof(T));
  }
  /// One bulk of several pieces. Offsets count through the pieces in their order.
  bulk expose(const iovec* pieces, size_t count, access a = access::read_write) const;

  /// Makes progress and executes functions for at most the time `d`. Returns whether it has executed any.
  template <class Rep, class Period>
  bool progress(std::chrono::duration<Rep, Period> d) const {
    return progress_for(detail::nanoseconds_of(d));
  }
  bool progress() const { return progress_for(0); }
  /// Makes progress and executes functions until stop() is called.
  void run() const;
  /// Ends run() in all threads that are in it, within 100 ms. If there are none, the next run() ends at once. Signal
  /// handlers may call it. A background thread goes on.
  void stop() const;

  /// Ends the engine. Its outstanding calls end with cancelled_error. Calls of peers that have not been executed end
  /// with no_answer_error at the peers. Waits for functions that are being executed, then destroys all functions and
  /// what they have captured. Idempotent. Throws lci::invalid_argument_error if a function that the engine executes
  /// calls it.
  void close();

 private:
  bool progress_for(int64_t ns) const;
  detail::engine_core& core() const { return *core_; }
  std::shared_ptr<detail::engine_core> share() const { return core_; }

  std::shared_ptr<detail::engine_core> core_;
};

}  // namespace lci::rpc
