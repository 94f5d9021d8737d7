// The root's state of one connection, which becomes a rank when its join succeeds.
#pragma once

#include <string>

#include "lib/bootstrap/tcp_socket.hpp"
#include "lib/bootstrap/tcp_wire.hpp"

namespace lci::network::tcp {

struct member {
  socket_fd fd;
  std::string from;  ///< its address
  frame_buffer in;
  std::string out;  ///< bytes that the socket has not accepted yet
  bool wants_out = false, closing = false;

  // joining
  clock::time_point join_end{};
  std::string rank_nonce, root_nonce;
  bool challenged = false, turned_away = false;
  int claimed_rank = -1;

  // joined
  int rank = -1;
  bool in_fence = false, has_closed = false;
};

}  // namespace lci::network::tcp
