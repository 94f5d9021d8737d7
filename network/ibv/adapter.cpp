#include "network/ibv/adapter.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"

namespace lci::network::ibv {

namespace {

/// Returns whether a call failed for a reason that may be temporary, rather than because there is no card, or none for
/// this user.
bool is_refusal(int error) {
  return error != 0 && error != ENOSYS && error != ENOENT && error != EACCES && error != EPERM;
}

std::string said_by(const char* call, const char* name, int error) {
  return std::string(call) + (name != nullptr ? std::string(" of ") + name : "") + ": " + std::strerror(error) + " (" +
         std::to_string(error) + ")";
}

/// Why libibverbs lists no devices.
std::string why_none(int error) {
  std::error_code ignored;
  if (std::filesystem::is_empty("/sys/class/infiniband", ignored) || ignored)
    return "no RDMA device: the kernel knows of none, or has no driver loaded (`rdma link` lists them); "
           "LCI_ATTR_BACKEND=tcp reaches other hosts without";
  const std::string what = "there is an RDMA device, but libibverbs can't use it";
  if (!std::filesystem::exists("/dev/infiniband", ignored))
    return what +
           ": /dev/infiniband is missing; load the module ib_uverbs, or pass the device to the "
           "container";
  return what + (error != 0 ? std::string(": ") + std::strerror(error) : "") +
         "; install its driver's library (Debian: ibverbs-providers)";
}

std::string why_not_opened(const ibv_device& device, int error) {
  // libibverbs tries several ways to open a device; errno is that of the last one.
  const std::string file = std::string("/dev/infiniband/") + device.dev_name;
  const bool forbidden = access(file.c_str(), R_OK | W_OK) != 0 && errno == EACCES;
  return std::string("can't open ") + device.name + ": " + std::strerror(forbidden ? EACCES : error) +
         (forbidden ? "; give this user the right to read and write " + file + ", by its group or udev" : "");
}

/// Calls the provider's own entry, as ibv_query_device_ex() is inline and would need to be linked with libibverbs.
ibv_odp_caps paging_of(ibv_context& opened) {
  ibv_device_attr_ex more{};
  const verbs_context* const provider = verbs_get_ctx_op(&opened, query_device_ex);
  if (provider == nullptr || provider->query_device_ex(&opened, nullptr, &more, sizeof more) != 0) return {};
  return more.odp_caps;
}

}  // namespace

adapter::adapter(const net_context_attr_t& attr) {
  if (const std::string& missing = library::get().missing; !missing.empty()) throw resource_error("ibv: " + missing);
  find(attr.device_name);
  gid_ = choose_gid(*open(), name(), port_, port_attr_, attr);
}

void adapter::find(const std::string& wanted) {
  int n = 0;
  errno = 0;
  list_.reset(library::get().get_device_list(&n));
  if (list_ == nullptr && is_refusal(errno))
    throw card_refused_error("ibv: " + said_by("ibv_get_device_list", nullptr, errno));
  if (list_ == nullptr || n == 0) throw resource_error("ibv: " + why_none(errno));
  std::string names, why_not;
  bool known = false, refused = false;
  for (int i = 0; i < n; ++i) {
    ibv_device* const device = list_.get()[i];
    const char* const name = library::get().get_device_name(device);
    names += std::string(i == 0 ? "" : ", ") + name;
    if (!wanted.empty() && wanted != name) continue;
    known = true;
    const owned<ibv_context> opened(library::get().open_device(device));
    if (opened == nullptr) {
      refused = refused || is_refusal(errno);
      why_not = why_not_opened(*device, errno);
      continue;
    }
    std::string why;
    errno = 0;
    if (use(*opened, device, why)) return;
    refused = refused || is_refusal(errno);
    if (why_not.empty()) why_not = why;
  }
  if (!known) throw_invalid("alloc_net_context", "device_name", wanted, "one of: " + names);
  if (refused) throw card_refused_error("ibv: " + why_not);
  throw resource_error("ibv: " + why_not);
}

bool adapter::use(ibv_context& opened, ibv_device* device, std::string& why_not) {
  const library& l = library::get();
  const char* const name = l.get_device_name(device);
  const auto failed = [&](const char* call, int error) {
    why_not = said_by(call, name, error);
    errno = error;
  };
  if (const int error = l.query_device(&opened, &device_attr_); error != 0) {
    failed("ibv_query_device", error);
    return false;
  }
  why_not = std::string("no port of ") + name + " is active; look at `rdma link` and its network interface";
  for (int port = 1; port <= device_attr_.phys_port_cnt; ++port) {
    port_attr_ = {};
    if (const int error = l.query_port(&opened, static_cast<uint8_t>(port), &port_attr_); error != 0) {
      failed("ibv_query_port", error);
      continue;
    }
    if (port_attr_.state != IBV_PORT_ACTIVE) continue;
    device_ = device;
    port_ = static_cast<uint8_t>(port);
    paging_ = paging_of(opened);
    return true;
  }
  return false;
}

owned<ibv_context> adapter::open() const {
  ibv_context* const opened = library::get().open_device(device_);
  if (opened == nullptr) {
    const int error = errno;
    const std::string why = "ibv: " + why_not_opened(*device_, error);
    if (is_refusal(error)) throw card_refused_error(why);
    throw resource_error(why);
  }
  return owned<ibv_context>(opened);
}

usability look() {
  const auto without_name = [](const std::string& text) {
    return text.compare(0, 5, "ibv: ") == 0 ? text.substr(5) : text;
  };
  try {
    const adapter any{net_context_attr_t{}};
    return {};
  } catch (const card_refused_error& e) {
    return {without_name(e.what()), false, true};
  } catch (const std::runtime_error& e) {
    return {without_name(e.what())};
  }
}

}  // namespace lci::network::ibv
