/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_SCRIPT_H
#define LK_BASE_SCRIPT_H

#include <stddef.h>

/*
 * One Lua script of lua/, embedded at build time together with the fragments
 * that it needs. index counts the scripts from 0: a server object remembers by
 * it which ones that server has seen.
 */
typedef struct lk__script {
    const char *name; /* <family>_<script> */
    const char *body;
    size_t size;
    const char *sha1; /* of body, 40 hexadecimal digits */
    unsigned index;
} lk__script;

/* How many scripts there are. */
extern const unsigned lk__script_count;

#endif /* LK_BASE_SCRIPT_H */
