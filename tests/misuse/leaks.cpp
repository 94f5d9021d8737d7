// For test_leaks.py: leaks objects, in lines that the checking mode must name.
#include <lci.hpp>

int main() {
  lci::g_runtime_init();
  static char memory[64];
  lci::comp_t freed = lci::alloc_counter();
  lci::free_comp(&freed);
  lci::alloc_cq_x().name("a queue")();                // leak 1
  (void)lci::alloc_sync();                            // leak 2
  (void)lci::register_memory(memory, sizeof memory);  // leak 3
  (void)lci::alloc_matching_engine();                 // leak 4
  (void)lci::alloc_symmetric(4096);                   // leak 5
  lci::g_runtime_fina();
}
