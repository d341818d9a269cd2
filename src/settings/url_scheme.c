/* SPDX-License-Identifier: MIT */

/* The schemes of URLs: every spelling that is known, and what is said of those
   that cannot be had. */

#include "settings/url_scheme.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

enum { WORD_MAX = 32 }; /* bytes of an unknown one that are repeated */

static const lk__scheme schemes[] = {
    {"redis", LK__SCHEME_TCP},
    {"valkey", LK__SCHEME_TCP},
    {"unix", LK__SCHEME_UNIX},
    {"redis+unix", LK__SCHEME_UNIX},
    {"valkey+unix", LK__SCHEME_UNIX},
    {"redis-socket", LK__SCHEME_UNIX},
    {"redis+uds", LK__SCHEME_UNIX},
    {"valkey+uds", LK__SCHEME_UNIX},
    {"rediss", LK__SCHEME_TLS},
    {"valkeys", LK__SCHEME_TLS},
    {"rediss+unix", LK__SCHEME_UNIX_TLS},
    {"valkeys+unix", LK__SCHEME_UNIX_TLS},
    {"sentinel", LK__SCHEME_SENTINEL_OTHER},
    {"redis+sentinel", LK__SCHEME_SENTINEL},
    {"redis-sentinel", LK__SCHEME_SENTINEL_OTHER},
    {"rediss-sentinel", LK__SCHEME_SENTINEL_OTHER},
    {"rediss+sentinel", LK__SCHEME_SENTINEL_TLS},
    {"redis+sentinel+tls", LK__SCHEME_SENTINEL_TLS},
    {"valkey+sentinel+tls", LK__SCHEME_SENTINEL_TLS},
    {"valkey+sentinel", LK__SCHEME_SENTINEL},
    {"valkeys+sentinel", LK__SCHEME_SENTINEL_TLS},
    {"redis+cluster", LK__SCHEME_CLUSTER},
    {"redis-cluster", LK__SCHEME_CLUSTER},
    {"rediss+cluster", LK__SCHEME_CLUSTER},
    {"rediss-cluster", LK__SCHEME_CLUSTER},
    {"valkey+cluster", LK__SCHEME_CLUSTER},
    {"valkeys+cluster", LK__SCHEME_CLUSTER},
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
                        "the URL's scheme '%s' is written in more than one "
                        "way; write %s://host,host/master/db",
                        scheme->word,
                        strncasecmp(scheme->word, "rediss", 6) == 0
                            ? "rediss+sentinel"
                            : "redis+sentinel");
    case LK__SCHEME_CLUSTER:
        return lk__fail(LK_ENOTSUP,
                        "the URL's scheme '%s' asks for Redis Cluster, which "
                        "this version does not support",
                        scheme->word);
    }
    return LK_OK;
}
