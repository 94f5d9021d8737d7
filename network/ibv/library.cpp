#include "network/ibv/library.hpp"

#include "lib/base/loaded_library.hpp"

namespace lci::network::ibv {

namespace {

library load() {
  library l;
  loaded_library loaded({"libibverbs.so.1"});
  loaded.find("ibv_get_device_list", l.get_device_list);
  loaded.find("ibv_free_device_list", l.free_device_list);
  loaded.find("ibv_get_device_name", l.get_device_name);
  loaded.find("ibv_open_device", l.open_device);
  loaded.find("ibv_close_device", l.close_device);
  loaded.find("ibv_query_device", l.query_device);
  loaded.find("ibv_query_port", l.query_port);
  loaded.find("_ibv_query_gid_ex", l.query_gid_ex);
  loaded.find("ibv_get_async_event", l.get_async_event);
  loaded.find("ibv_ack_async_event", l.ack_async_event);
  loaded.find("ibv_event_type_str", l.event_type_str);
  loaded.find("ibv_alloc_pd", l.alloc_pd);
  loaded.find("ibv_dealloc_pd", l.dealloc_pd);
  loaded.find("ibv_reg_mr", l.reg_mr);
  loaded.find("ibv_dereg_mr", l.dereg_mr);
  loaded.find("ibv_create_comp_channel", l.create_comp_channel);
  loaded.find("ibv_destroy_comp_channel", l.destroy_comp_channel);
  loaded.find("ibv_create_cq", l.create_cq);
  loaded.find("ibv_destroy_cq", l.destroy_cq);
  loaded.find("ibv_get_cq_event", l.get_cq_event);
  loaded.find("ibv_ack_cq_events", l.ack_cq_events);
  loaded.find("ibv_create_srq", l.create_srq);
  loaded.find("ibv_destroy_srq", l.destroy_srq);
  loaded.find("ibv_create_qp", l.create_qp);
  loaded.find("ibv_modify_qp", l.modify_qp);
  loaded.find("ibv_destroy_qp", l.destroy_qp);
  loaded.find("ibv_wc_status_str", l.wc_status_str);
  if (!loaded.missing().empty())
    l.missing = loaded.missing() + "; install that of rdma-core 32 or later (Debian: libibverbs1, ibverbs-providers)";
  return l;
}

}  // namespace

const library& library::get() {
  static const library loaded = load();
  return loaded;
}

}  // namespace lci::network::ibv
