// The one header of LCI's C++ interface.
#pragma once

#include "lci/config.hpp"
#include "lci/types.hpp"
#include "lci/errors.hpp"
#include "lci/attributes.hpp"
#include "lci/completion.hpp"
#include "lci/handles.hpp"
#include "lci/operations.hpp"
#include "lci/graph.hpp"
