// The process's connection to the server. Opened at the first use, and again in forked children.
#pragma once

#include <pthread.h>

#include <csignal>

#include "../client/client.hpp"

namespace io_shim {

/// Returns whether this thread is inside a call of this library. Then replaced functions that LCI calls forward to the
/// real ones.
bool is_inside();

/// A scope in which pthread_cancel() does not end the thread.
class uncancellable {
 public:
  uncancellable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~uncancellable() { pthread_setcancelstate(before_, nullptr); }
  uncancellable(const uncancellable&) = delete;
  uncancellable& operator=(const uncancellable&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// A scope for communication with the server. Blocks signals, so that their handlers never run while locks are held,
/// and delays fork() until no thread is in such a scope. Preserves `errno`. pthread_cancel() does not end the thread in
/// it: LCI waits in functions that are cancellation points, but functions like fstat() are none.
class remote_call {
 public:
  remote_call();
  ~remote_call();
  remote_call(const remote_call&) = delete;
  remote_call& operator=(const remote_call&) = delete;

 private:
  const int error_;
  const uncancellable whole_;
  sigset_t before_;
};

/// The client. Connects if there is no connection or it is lost. Returns null if the server can't be reached, or in a
/// child of vfork() if the parent is not connected. Clients are never freed, since files refer to them. To be called in
/// a remote_call.
io_server::client* current_client();
/// Returns the errno of a call that has failed because current_client() has returned null.
int errno_of_connection();
/// Returns whether this process is connected; for a child of vfork(): whether its parent is.
bool is_connected();

/// Closes the process's files at the server, before the process exits.
void end_session();

/// Records that the process has had locks at the server.
void note_lock();

/// Returns whether this process is a child of vfork(). It shares the parent's memory, so it must not change the
/// library's state.
bool is_borrowed();

/// Returns whether LCI, or the client, uses the descriptor. Programs that close all descriptors must not close it.
bool is_of_lci(int fd);

}  // namespace io_shim
