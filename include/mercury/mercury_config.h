/* What this build of the HG interface is. A program includes it through mercury_types.h. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

/* The version of Mercury whose programs this interface serves, not the version of the library. */
#define HG_VERSION_MAJOR 0
#define HG_VERSION_MINOR 8
#define HG_VERSION_PATCH 2

#define HG_BUILD_SHARED_LIBS

#if defined(__GNUC__)
#define HG_EXPORT __attribute__((visibility("default")))
#else
#define HG_EXPORT
#endif
#define HG_INLINE __inline__

/* Names of environment variables: the URL for a program's NA_Initialize(), and the address of its server. */
#define HG_NA_PLUGIN "MERCURY_NA_PLUGIN"
#define HG_PORT_NAME "MERCURY_PORT_NAME"

#endif
