// The process's connection with the server: made when it is needed first, and anew in forked children.
#pragma once

#include <csignal>

#include "../client/client.hpp"

namespace io_shim {

/// Whether this thread is in a call of this library's, so that what LCI itself opens and closes is not looked at.
bool is_inside();

/// Around everything that talks with the server: signals wait, so that their handlers find no lock taken, and fork() waits
/// until no thread is in such a call. `errno` is afterwards what it was before.
class remote_call {
 public:
  remote_call();
  ~remote_call();
  remote_call(const remote_call&) = delete;
  remote_call& operator=(const remote_call&) = delete;

 private:
  const int error_;
  sigset_t before_;
};

/// The client, connected now if it is not yet, or if the server was lost; null: the server can't be reached. Clients are
/// never freed: files remember theirs. In a remote_call.
io_server::client* current_client();

/// The process has, or had, locks at the server.
void note_lock();

/// Whether this is a child of vfork(), which shares the parent's memory: it must change nothing there.
bool is_borrowed();

/// Whether LCI uses the descriptor, which programs that close all descriptors must not close.
bool is_of_lci(int fd);

}  // namespace io_shim
