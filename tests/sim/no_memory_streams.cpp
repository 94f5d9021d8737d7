#include "tests/sim/failing_memory.hpp"
