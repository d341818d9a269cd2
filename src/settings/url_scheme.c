/* SPDX-License-Identifier: MIT */

/* The schemes of URLs: every spelling that is known, and what is said of those
   that cannot be had. */

#include "settings/url_scheme.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

enum { WORD_MAX = 32 }; /* bytes of an unknown one that are repeated */

static const lk__scheme schemes[] = {
    {"redis", LK__SCHEME_TCP, false},
    {"valkey", LK__SCHEME_TCP, false},
    {"unix", LK__SCHEME_UNIX, false},
    {"redis+unix", LK__SCHEME_UNIX, false},
    {"valkey+unix", LK__SCHEME_UNIX, false},
    {"redis-socket", LK__SCHEME_UNIX, false},
    {"valkey-socket", LK__SCHEME_UNIX, false},
    {"redis+uds", LK__SCHEME_UNIX, false},
    {"valkey+uds", LK__SCHEME_UNIX, false},
    {"rediss", LK__SCHEME_TLS, false},
    {"valkeys", LK__SCHEME_TLS, false},
    {"rediss+unix", LK__SCHEME_UNIX_TLS, false},
    {"valkeys+unix", LK__SCHEME_UNIX_TLS, false},
    {"sentinel", LK__SCHEME_SENTINEL_OTHER, false},
    {"redis+sentinel", LK__SCHEME_SENTINEL, false},
    {"rediss+sentinel", LK__SCHEME_SENTINEL_TLS, false},
    {"redis+sentinel+tls", LK__SCHEME_SENTINEL_TLS, false},
    {"valkey+sentinel", LK__SCHEME_SENTINEL, false},
    {"valkeys+sentinel", LK__SCHEME_SENTINEL_TLS, false},
    {"valkey+sentinel+tls", LK__SCHEME_SENTINEL_TLS, false},
    {"redis-sentinel", LK__SCHEME_SENTINEL, true},
    {"rediss-sentinel", LK__SCHEME_SENTINEL_TLS, true},
    {"valkey-sentinel", LK__SCHEME_SENTINEL, true},
    {"valkeys-sentinel", LK__SCHEME_SENTINEL_TLS, true},
    {"redis+cluster", LK__SCHEME_CLUSTER, false},
    {"redis-cluster", LK__SCHEME_CLUSTER, false},
    {"rediss+cluster", LK__SCHEME_CLUSTER, false},
    {"rediss-cluster", LK__SCHEME_CLUSTER, false},
    {"valkey+cluster", LK__SCHEME_CLUSTER, false},
    {"valkey-cluster", LK__SCHEME_CLUSTER, false},
    {"valkeys+cluster", LK__SCHEME_CLUSTER, false},
    {"valkeys-cluster", LK__SCHEME_CLUSTER, false},
};

const lk__scheme *lk__scheme_find(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strlen(schemes[i].word) == size &&
            strncasecmp(schemes[i].word, text, size) == 0)
            return &schemes[i];
    }
    return NULL;
}

lk_status lk__scheme_unknown(const char *text, size_t size)
{
    if (size <= WORD_MAX && strncmp(text + size, "://", 3) == 0)
        return lk__fail(LK_EURL,
                        "the URL's scheme '%.*s' is not known; write "
                        "redis://host:port or unix:/path",
                        (int)size, text);
    return lk__fail(LK_EURL, "the URL has no known scheme; write "
                             "redis://host:port or unix:/path");
}

lk_status lk__scheme_check(const lk__scheme *scheme)
{
    switch (scheme->kind) {
    case LK__SCHEME_TCP:
    case LK__SCHEME_TLS:
    case LK__SCHEME_UNIX:
    case LK__SCHEME_SENTINEL:
    case LK__SCHEME_SENTINEL_TLS:
        break;
    case LK__SCHEME_UNIX_TLS:
        return lk__fail(LK_ENOTSUP,
                        "the URL's scheme '%s' asks for TLS on a unix socket, "
                        "which no server has; write unix:/path",
                        scheme->word);
    case LK__SCHEME_SENTINEL_OTHER:
        return lk__fail(LK_EURL,
                        "a URL of the scheme '%s' does not name the master; "
                        "write redis+sentinel://host,host/master/db",
                        scheme->word);
    case LK__SCHEME_CLUSTER:
        return lk__fail(LK_ENOTSUP,
                        "the URL's scheme '%s' asks for Redis Cluster, which "
                        "this version does not support",
                        scheme->word);
    }
    return LK_OK;
}
