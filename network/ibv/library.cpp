#include "network/ibv/library.hpp"

#include <dlfcn.h>

namespace lci::network::ibv {

namespace {

library load() {
  library l;
  void* const handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);  // never unloaded
  if (handle == nullptr) {
    l.missing = std::string(dlerror()) + "; install libibverbs (Debian: libibverbs1, ibverbs-providers)";
    return l;
  }
  const auto find = [&]<class F>(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function == nullptr)
      l.missing = std::string("libibverbs.so.1 has no ") + name + "; install that of rdma-core 32 or later";
  };
  find("ibv_get_device_list", l.get_device_list);
  find("ibv_free_device_list", l.free_device_list);
  find("ibv_get_device_name", l.get_device_name);
  find("ibv_open_device", l.open_device);
  find("ibv_close_device", l.close_device);
  find("ibv_query_device", l.query_device);
  find("ibv_query_port", l.query_port);
  find("_ibv_query_gid_ex", l.query_gid_ex);
  find("ibv_get_async_event", l.get_async_event);
  find("ibv_ack_async_event", l.ack_async_event);
  find("ibv_event_type_str", l.event_type_str);
  find("ibv_alloc_pd", l.alloc_pd);
  find("ibv_dealloc_pd", l.dealloc_pd);
  find("ibv_reg_mr", l.reg_mr);
  find("ibv_dereg_mr", l.dereg_mr);
  find("ibv_create_comp_channel", l.create_comp_channel);
  find("ibv_destroy_comp_channel", l.destroy_comp_channel);
  find("ibv_create_cq", l.create_cq);
  find("ibv_destroy_cq", l.destroy_cq);
  find("ibv_get_cq_event", l.get_cq_event);
  find("ibv_ack_cq_events", l.ack_cq_events);
  find("ibv_create_srq", l.create_srq);
  find("ibv_destroy_srq", l.destroy_srq);
  find("ibv_create_qp", l.create_qp);
  find("ibv_modify_qp", l.modify_qp);
  find("ibv_destroy_qp", l.destroy_qp);
  find("ibv_wc_status_str", l.wc_status_str);
  return l;
}

}  // namespace

const library& library::get() {
  static const library loaded = load();
  return loaded;
}

}  // namespace lci::network::ibv
