#include "network/common/secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "lci/errors.hpp"

namespace lci::network {

secret new_secret() {
  secret s;
  if (getrandom(s.data(), s.size(), 0) != static_cast<ssize_t>(s.size()))
    throw resource_error(std::string("getrandom: ") + std::strerror(errno));
  return s;
}

bool equal(const secret& a, const secret& b) {
  unsigned differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned>(a[i] ^ b[i]);
  return differences == 0;
}

}  // namespace lci::network
