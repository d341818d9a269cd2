/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_URL_SCHEME_H
#define LK_SETTINGS_URL_SCHEME_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stddef.h>

/* The schemes of URLs. */
typedef enum lk__scheme_kind {
    LK__SCHEME_TCP, /* one server; or several, see url_hosts.h */
    LK__SCHEME_UNIX,
    LK__SCHEME_SENTINEL,
    LK__SCHEME_SENTINEL_OTHER, /* what follows it does not name the master */
    LK__SCHEME_CLUSTER
} lk__scheme_kind;

typedef struct lk__scheme {
    const char *word;
    lk__scheme_kind kind;
    bool tls;
    bool master_last; /* of Sentinel: host,host/db#master, as Lettuce has it */
} lk__scheme;

/* NULL: it is none. */
const lk__scheme *lk__scheme_find(const char *text, size_t size);

/* LK_EURL; says what it ought to be. */
lk_status lk__scheme_unknown(const char *text, size_t size);

/* LK_OK, or that such a connection cannot be made. */
lk_status lk__scheme_check(const lk__scheme *scheme);

#endif /* LK_SETTINGS_URL_SCHEME_H */
