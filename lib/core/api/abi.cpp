#include "lci/abi.hpp"

#include "lci/errors.hpp"
#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"

namespace lci::detail {

namespace {

[[noreturn]] LCI_COLD void another_version() {
  throw version_error(
      "this program was compiled with headers of another LCI than the library that it runs with, which "
      "is " LCI_VERSION_STRING
      ": compile it again with that library's headers, or let it find the library it was compiled "
      "for");
}

}  // namespace

void require_layout(uint64_t of_the_program) {
  if (LCI_UNLIKELY(of_the_program != header_layout)) another_version();
}

}  // namespace lci::detail
