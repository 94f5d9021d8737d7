// Checks of the memory that a call names, for LCI_ATTR_CHECK.
#pragma once

#include "generated/core_operations.hpp"
#include "lib/base/cpu.hpp"

namespace lci::core {

/// Throws invalid_argument_error if a post would write a byte twice, or one that it also reads; or if its layout covers
/// unmapped memory, or its registration is of another device. All handles must be alive. Layouts of more than 65536
/// pieces are not checked.
///
/// Also if a message's buffer is a packet that is free.
LCI_COLD void inspect_memory(const post_comm_args& a);
LCI_COLD void inspect_memory(const post_am_args& a);
LCI_COLD void inspect_memory(const post_send_args& a);
LCI_COLD void inspect_memory(const post_recv_args& a);
LCI_COLD void inspect_memory(const post_put_args& a);
LCI_COLD void inspect_memory(const post_get_args& a);
LCI_COLD void inspect_memory(const post_atomic_args& a);
LCI_COLD void inspect_memory(const net_post_put_args& a);
LCI_COLD void inspect_memory(const net_post_putImm_args& a);
LCI_COLD void inspect_memory(const net_post_get_args& a);
/// Throws invalid_argument_error for a packet that is free already.
LCI_COLD void inspect_memory(const put_upacket_args& a);

}  // namespace lci::core
