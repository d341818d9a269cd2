/* SPDX-License-Identifier: MIT */
#ifndef LK_VERSION_H
#define LK_VERSION_H

/**
 * @file
 * Which release these headers, and the library at run time, belong to.
 */

#include <latchkey/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LK_VERSION_MAJOR 0
#define LK_VERSION_MINOR 1
#define LK_VERSION_PATCH 0

/** Returns the version of the library in use, for example "0.1.0". */
LK_API const char *lk_version(void);

#ifdef __cplusplus
}
#endif

#endif /* LK_VERSION_H */
