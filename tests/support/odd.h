/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_ODD_H
#define LK_TESTS_SUPPORT_ODD_H

#include <stdbool.h>

#include "support/server.h"

/*
 * Names whose keys others wrote as no client does, and each of which somebody waits
 * for: of another layout or type, too large, or no name at all.
 */

typedef struct odd {
    const char *name;
    const char *reason; /* why it cannot be read */
    const char *keys;   /* what makes it so, in Lua */
} odd;

/* Ended by a name that is NULL. */
extern const odd odd_names[];

/* Whether the text begins with the reason, which may have kind and name before it. */
bool odd_is_told(const odd *one, const char *text);

/* Writes the keys of all of them. */
void odd_put(server *s);

#endif /* LK_TESTS_SUPPORT_ODD_H */
