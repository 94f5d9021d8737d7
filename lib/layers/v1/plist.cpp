// Property lists: the matching, the completion types and the default completion object of a new endpoint.
#include <lci.h>

#include <cstdio>
#include <new>

#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

LCI_error_t LCI_plist_create(LCI_plist_t* plist) {
  return guarded("LCI_plist_create", [&] {
    if (plist == nullptr) return fail("LCI_plist_create", "plist is NULL, but must be the address of a handle");
    (void)the_world();
    *plist = new LCI_plist_s;
    (*plist)->default_comp = LCI_UR_CQ;
    record_created(*plist);
    return LCI_OK;
  });
}

LCI_error_t LCI_plist_free(LCI_plist_t* plist) {
  return guarded("LCI_plist_free", [&] {
    if (plist == nullptr) return fail("LCI_plist_free", "plist is NULL, but must be the address of a handle");
    if (*plist == nullptr) return LCI_OK;
    check_plist(*plist);
    record_freed(*plist);
    delete *plist;
    *plist = nullptr;
    return LCI_OK;
  });
}

LCI_error_t LCI_plist_get(LCI_endpoint_t endpoint, LCI_plist_t* plist) {
  return guarded("LCI_plist_get", [&] {
    if (plist == nullptr) return fail("LCI_plist_get", "plist is NULL, but must be the address of a handle");
    (void)the_world();
    check_endpoint(endpoint);
    *plist = new LCI_plist_s(endpoint->properties);
    record_created(*plist);
    return LCI_OK;
  });
}

namespace {

const char* name_of(LCI_comp_type_t type) {
  switch (type) {
    case LCI_COMPLETION_NONE:
      return "none";
    case LCI_COMPLETION_QUEUE:
      return "queue";
    case LCI_COMPLETION_HANDLER:
      return "handler";
    case LCI_COMPLETION_SYNC:
      return "sync";
  }
  return "unknown";
}

}  // namespace

LCI_error_t LCI_plist_decode(LCI_plist_t plist, char* string) {
  return guarded("LCI_plist_decode", [&] {
    if (string == nullptr) return fail("LCI_plist_decode", "string is NULL, but must be an array of 160 bytes");
    check_plist(plist);
    // An endpoint of a list without a default completion object has LCI_UR_CQ.
    const LCI_comp_t to = plist->default_comp != nullptr ? plist->default_comp : LCI_UR_CQ;
    std::snprintf(string, 160, "match: %s, command port: %s, message port: %s, default completion object: %s %p",
                  plist->match == LCI_MATCH_TAG ? "tag" : "rank and tag", name_of(plist->command),
                  name_of(plist->message), to == LCI_UR_CQ ? "LCI_UR_CQ" : "own", to);
    return LCI_OK;
  });
}

LCI_error_t LCI_plist_set_match_type(LCI_plist_t plist, LCI_match_t match) {
  return guarded("LCI_plist_set_match_type", [&] {
    check_plist(plist);
    if (match != LCI_MATCH_RANKTAG && match != LCI_MATCH_TAG)
      return fail("LCI_plist_set_match_type", "match = %d, but must be LCI_MATCH_RANKTAG or LCI_MATCH_TAG",
                  static_cast<int>(match));
    plist->match = match;
    return LCI_OK;
  });
}

LCI_error_t LCI_plist_set_match(LCI_plist_t* plist, LCI_match_t match) {
  if (plist == nullptr) return fail("LCI_plist_set_match", "plist is NULL, but must be the address of a handle");
  return LCI_plist_set_match_type(*plist, match);
}

LCI_error_t LCI_plist_set_comp_type(LCI_plist_t plist, LCI_port_t port, LCI_comp_type_t type) {
  return guarded("LCI_plist_set_comp_type", [&] {
    check_plist(plist);
    if (port != LCI_PORT_COMMAND && port != LCI_PORT_MESSAGE)
      return fail("LCI_plist_set_comp_type", "port = %d, but must be LCI_PORT_COMMAND or LCI_PORT_MESSAGE",
                  static_cast<int>(port));
    if (static_cast<unsigned>(type) > LCI_COMPLETION_SYNC)
      return fail("LCI_plist_set_comp_type", "type = %d, but must be one of LCI_COMPLETION_*", static_cast<int>(type));
    (port == LCI_PORT_COMMAND ? plist->command : plist->message) = type;
    return LCI_OK;
  });
}

LCI_error_t LCI_plist_set_default_comp(LCI_plist_t plist, LCI_comp_t comp) {
  return guarded("LCI_plist_set_default_comp", [&] {
    check_plist(plist);
    if (checking()) check_default_comp(comp);
    plist->default_comp = comp;
    return LCI_OK;
  });
}
