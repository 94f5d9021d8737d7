// What most files of the core read, compiled once: reading it is half of the work of a short file.
// Every file still names what it uses, and compiles without this.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/core/device.hpp"
#include "lib/core/runtime.hpp"
