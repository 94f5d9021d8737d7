// The checking mode looks at the memory that a post names.
#pragma once

#include "generated/core_operations.hpp"
#include "lib/base/cpu.hpp"

namespace lci::core {

/// Throws invalid_argument_error if a post would write a byte twice, or one that it reads, or reaches with a layout to
/// where there is no memory, or names a registration of another device. All handles must be alive. Layouts of very many
/// pieces are not looked at.
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

}  // namespace lci::core
