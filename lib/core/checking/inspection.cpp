#include "lib/core/checking/inspection.hpp"

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/collective_check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/endpoint.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/stream/stream.hpp"

namespace lci::core {

void refuse_after_fork(const char* operation) {
  throw_invalid(operation, "caller", "a child that fork() made of a process that uses LCI",
                "the process that allocated the runtime",
                "a child may only call exec() or _exit(); the parent communicates");
}

call_inspection::call_inspection(const char* operation)
    : operation_(operation), thorough_(watched_for(calls_are_checked)) {
  if (watched_for(process_was_forked)) refuse_after_fork(operation);
}

bool call_inspection::alive(const char* argument, const void* object) {
  if (!detail::is_object(object)) return false;
  if (objects::was_freed(object))
    throw_invalid(operation_, argument, "a handle whose object was freed", "one whose object is alive",
                  "freeing empties one handle only, not its copies");
  return true;
}

void call_inspection::belongs(const char* argument, const runtime* to) {
  if (owner_ != nullptr && owner_ != to)
    throw_invalid(operation_, argument, "an object of another runtime",
                  std::string("one of the runtime of `") + owner_name_ + "`");
  owner_ = to;
  owner_name_ = argument;
}

void call_inspection::look_at(const char* argument, runtime_t h) {
  if (!alive(argument, h.p_impl)) return;
  belongs(argument, h.p_impl);
  anchored_ = true;
}

void call_inspection::look_at(const char* argument, net_context_t h) {
  if (alive(argument, h.p_impl)) belongs(argument, h.p_impl->runtime.p_impl);
}

void call_inspection::look_at(const char* argument, device_t h) {
  if (!alive(argument, h.p_impl)) return;
  belongs(argument, h.p_impl->runtime.p_impl);
  anchored_ = true;
  device_ = h;
}

void call_inspection::look_at(const char* argument, endpoint_t h) {
  if (!alive(argument, h.p_impl)) return;
  const device_t of = h.p_impl->device;
  if (objects::was_freed(of.p_impl))
    throw_invalid(operation_, argument, "an endpoint of a device that was freed", "one whose device is alive");
  if (!device_.is_empty() && device_ != of)
    throw_invalid(operation_, argument, "an endpoint of another device", "one of the device that is used");
  belongs(argument, of.p_impl->runtime.p_impl);
}

void call_inspection::look_at(const char* argument, packet_pool_t h) {
  if (alive(argument, h.p_impl)) belongs(argument, h.p_impl->runtime.p_impl);
}

void call_inspection::look_at(const char* argument, matching_engine_t h) {
  if (alive(argument, h.p_impl)) belongs(argument, h.p_impl->runtime.p_impl);
}

void call_inspection::look_at(const char* argument, mr_t h) {
  if (!alive(argument, h.p_impl)) return;
  const device_t of = h.p_impl->device;
  // A registration ends with its device; deregistering it afterwards, which empties the handle, is allowed.
  if (!objects::was_freed(of.p_impl)) belongs(argument, of.p_impl->runtime.p_impl);
}

void call_inspection::look_at(const char* argument, stream_t h) {
  if (alive(argument, h.p_impl)) belongs(argument, h.p_impl->runtime.p_impl);
}

void call_inspection::default_runtime_serves() {
  const runtime* by_default = g_default_runtime.load(std::memory_order_acquire);
  if (!anchored_ && owner_ != nullptr && by_default != nullptr && owner_ != by_default)
    throw_invalid(operation_, owner_name_, "an object of another runtime",
                  "one of the default runtime, which calls without a runtime or device use",
                  "pass .runtime() or .device()");
}

void call_inspection::collective(runtime_t given, device_t device, const std::string& what) {
  runtime* rt = !device.is_empty()  ? device.p_impl->runtime.p_impl
                : !given.is_empty() ? given.p_impl
                                    : g_default_runtime.load(std::memory_order_acquire);
  if (rt == nullptr || rt->collectives == nullptr) return;
  if (device.is_empty()) device = rt->default_device;
  if (!device.is_empty()) rt->collectives->compare(*device.p_impl, what);
}

}  // namespace lci::core
