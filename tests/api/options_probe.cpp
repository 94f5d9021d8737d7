// Prints the process-wide defaults, one line an option: name=value (origin). With the argument
// `--set`, it first sets npackets to 77 in the program. What is thrown goes to standard error.
#include <cstdio>
#include <cstring>
#include <exception>

#include <lci.hpp>
#include <lci/options.hpp>

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "--set") == 0) {
      lci::global_attr_t attr = lci::get_g_default_attr();
      attr.npackets = 77;
      lci::set_g_default_attr(attr);
    }
    for (const lci::option_info_t& o : lci::get_options())
      std::printf("%s=%s (%s)\n", o.name, o.value.c_str(), o.origin);
    // What functors start from is the same.
    const auto pool = lci::alloc_packet_pool_x();
    std::printf("functor.npackets=%zu\n", pool.args().attr.npackets);
    const auto changed = lci::alloc_packet_pool_x().npackets(5);
    std::printf("setter.npackets=%zu\n", changed.args().attr.npackets);
    return 0;
  } catch (const lci::option_error& error) {
    std::fprintf(stderr, "option_error: %s\n", error.what());
    return 2;
  }
}
