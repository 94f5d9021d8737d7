// An engine: a process's end of function calls.
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

/// What an engine has besides its URL: `rpc::options().background().pool(4)`.
class options {
 public:
  /// Others can't connect to it. Default: they can.
  options& client() {
    listens_ = false;
    return *this;
  }
  /// It has a thread that makes progress and executes functions. Default: the program's threads do, in run(),
  /// progress(), and wherever they wait for a result.
  options& background() {
    background_ = true;
    return *this;
  }
  /// It has this many threads for functions with where::pool. Default: 0.
  options& pool(int threads) {
    pool_ = threads;
    return *this;
  }
  /// Arguments and results of more bytes than that, from peers, are refused with size_error before memory is allocated
  /// for them. Default: 1 GiB.
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

/// Calls functions of peers, and executes those that peers call. Several may exist in a process, for different networks.
/// All members may be called by any thread at any time but for the destructor. Functions, peers, futures and bulks
/// refer to their engine; after its end they throw lci::invalid_argument_error, or cancelled_error for what was under
/// way.
class LCI_API engine {
 public:
  /// `url`: "tcp://host:port", "tcp://host" (a free port), "shm://", "self" (no network), and the others of NA. Throws
  /// lci::invalid_argument_error for what is no URL, lci::resource_error if the network can't be joined.
  explicit engine(const std::string& url, const options& o = options());
  /// close().
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// What connect() of others takes.
  std::string url() const;
  /// Connects with the engine, or the program of HG, at this URL. Throws peer_error if there is none.
  peer connect(const std::string& url) const;
  /// This process.
  peer self() const;

  /// Peers may call `f` by this name from now on. The types of its parameters and of its result are the signature.
  /// Its first parameter may also be a `const context&` or a handle<R>. A second definition of a name replaces the
  /// first for later calls. Returns the function, to call it at peers.
  template <class F>
  auto define(const std::string& name, F f, where w = where::progress) const {
    using shape = detail::shape_of<typename detail::types_of<std::decay_t<F>>::type>;
    using handler = typename detail::handler_for<F, shape, shape::returned_type::is_coroutine>::type;
    detail::define(core(), name, shape::types::text(), std::make_unique<handler>(std::move(f)), w);
    return declare<typename shape::types::function_type>(name);
  }
  /// The same for what both sides know as a procedure. A function of another type does not compile.
  template <class Signature, class F>
  auto define(const procedure<Signature>& p, F f, where w = where::progress) const {
    using shape = detail::shape_of<typename detail::types_of<std::decay_t<F>>::type>;
    using plain = typename detail::shape_of<Signature>::types::function_type;
    static_assert(detail::is_same_signature<plain, shape>,
                  "rpc: the function's parameters or result are not those of the procedure");
    return define(std::string(p.name), std::move(f), w);
  }

  /// A function of peers: `e.declare<int(std::string, int)>("open")`.
  template <class Signature>
  auto declare(const std::string& name) const {
    using types = typename detail::shape_of<Signature>::types;
    return function<typename types::function_type>(share(), detail::declare(core(), name, types::text()));
  }
  template <class Signature>
  auto declare(const procedure<Signature>& p) const {
    return declare<Signature>(std::string(p.name));
  }

  /// Memory that peers may transfer, where bulks of it are arguments or results. It must exist until the last of them
  /// is gone.
  bulk expose(void* data, size_t size, access a = access::read_write) const;
  /// Peers may only read it.
  bulk expose(const void* data, size_t size) const;
  template <class C, class T = std::remove_pointer_t<decltype(std::declval<C&>().data())>>
  bulk expose(C& container) const {
    static_assert(std::is_trivially_copyable_v<T>, "rpc: memory that peers transfer has trivially copyable elements");
    return expose(container.data(), container.size() * sizeof(T));
  }
  /// Several pieces as one; offsets count through them.
  bulk expose(const iovec* pieces, size_t count, access a = access::read_write) const;

  /// Makes progress and executes functions. Returns whether it has executed any, after `d` at the latest.
  template <class Rep, class Period>
  bool progress(std::chrono::duration<Rep, Period> d) const {
    return progress_for(detail::nanoseconds_of(d));
  }
  bool progress() const { return progress_for(0); }
  /// The same until stop() is called.
  void run() const;
  void stop() const;

  /// Ends the engine: calls under way end with cancelled_error, calls that were not executed are answered with
  /// no_answer_error, and the engine waits for functions that are executed. Repeated, it has no effect. Throws
  /// lci::invalid_argument_error in a function that the engine executes.
  void close();

 private:
  bool progress_for(int64_t ns) const;
  detail::engine_core& core() const { return *core_; }
  std::shared_ptr<detail::engine_core> share() const { return core_; }

  std::shared_ptr<detail::engine_core> core_;
};

}  // namespace lci::rpc
