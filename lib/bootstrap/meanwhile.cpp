#include "lib/bootstrap/meanwhile.hpp"

namespace lci::network {

namespace {
constinit thread_local work_of_waits tls_work = nullptr;
}  // namespace

works_meanwhile::works_meanwhile(work_of_waits work) { tls_work = work; }
works_meanwhile::~works_meanwhile() { tls_work = nullptr; }

bool work_meanwhile() { return tls_work != nullptr && tls_work(); }

}  // namespace lci::network
