#include "network/common/secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/hmac.hpp"

namespace lci::network {

secret new_secret() {
  secret s;
  if (getrandom(s.data(), s.size(), 0) != static_cast<ssize_t>(s.size()))
    throw resource_error(std::string("getrandom: ") + std::strerror(errno));
  return s;
}

bool equal(const secret& a, const secret& b) { return equal_in_constant_time(a, b); }

}  // namespace lci::network
