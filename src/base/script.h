/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_SCRIPT_H
#define LK_BASE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One Lua script of lua/, embedded at build time together with the fragments
 * that its `-- uses:` line names. index counts the scripts from 0: a server
 * object remembers by it which ones that server has seen.
 */
typedef struct lk__script {
    const char *name; /* file name without .lua */
    const char *body;
    size_t size;
    const char *sha1; /* of body, 40 hexadecimal digits */
    unsigned index;
    unsigned key_count; /* KEYS[n] lines in its header; 0: it takes any */
    bool
        has_texts; /* a -- texts: line in its header; else it answers numbers */
} lk__script;

/* How many scripts there are. */
extern const unsigned lk__script_count;

/* lk__script_<name> is declared by the file that calls it. */

#endif /* LK_BASE_SCRIPT_H */
