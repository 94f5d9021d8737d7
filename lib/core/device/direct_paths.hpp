// Permission for functors to post without a call of the core.
#pragma once

namespace lci::core {

class device;

/// Permits functors to post by the direct paths of lci/direct.hpp. To be called when all resources that posts with
/// default arguments use have been set.
void open_direct_paths(device& d);
/// In a forked child: functors no longer take the direct paths, which skip the checks of calls.
void close_direct_paths(device& d);

}  // namespace lci::core
