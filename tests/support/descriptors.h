/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_DESCRIPTORS_H
#define LK_TESTS_SUPPORT_DESCRIPTORS_H

#include <stdbool.h>

/* What the process has open: leaks of descriptors, and ends that come late. */

/* How many descriptors are open. */
int descriptors_count(void);

/* How many of these exec would keep. */
int descriptors_inherited(void);

/* Waits until there are no more than so many. */
bool descriptors_fall_to(int count);

/* How many are a socket connected to the unix socket at path. */
int descriptors_connected_to(const char *path);

#endif /* LK_TESTS_SUPPORT_DESCRIPTORS_H */
