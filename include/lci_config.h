/* The switches of lci.h, which includes this header. */
#ifndef LCI_CONFIG_H
#define LCI_CONFIG_H

/* With LCI_USE_AVX, LCI_short_t has vectors of 32 bytes as members. Define it for all files of a program, or none. */
/* #define LCI_USE_AVX */

#endif
