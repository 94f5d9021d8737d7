/* The name that the specification of LCI v1.7 gives to lci.h. */
#include <lci.h>
