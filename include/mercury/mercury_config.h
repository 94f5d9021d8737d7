/* The configuration of the HG interface. Included by mercury_types.h. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

/* The version of Mercury whose interface this is; not the version of LCI. */
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

/* Names of environment variables that programs use for the URL of NA_Initialize() and for the address of their server.
 * */
#define HG_NA_PLUGIN "MERCURY_NA_PLUGIN"
#define HG_PORT_NAME "MERCURY_PORT_NAME"

#endif
