/* SPDX-License-Identifier: MIT */

/* The schemes of URLs: every spelling that is known, and what is said of those
   that cannot be had. */

#include "settings/url_scheme.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

enum { WORD_MAX = 32 }; /* bytes of an unknown one that are repeated */

static const lk__scheme schemes[] = {
    {"redis", LK__SCHEME_TCP, false, false},
    {"valkey", LK__SCHEME_TCP, false, false},
    {"tcp", LK__SCHEME_TCP, false, false},
    {"unix", LK__SCHEME_UNIX, false, false},
    {"redis+unix", LK__SCHEME_UNIX, false, false},
    {"valkey+unix", LK__SCHEME_UNIX, false, false},
    {"redis-socket", LK__SCHEME_UNIX, false, false},
    {"valkey-socket", LK__SCHEME_UNIX, false, false},
    {"redis+uds", LK__SCHEME_UNIX, false, false},
    {"valkey+uds", LK__SCHEME_UNIX, false, false},
    {"rediss", LK__SCHEME_TCP, true, false},
    {"valkeys", LK__SCHEME_TCP, true, false},
    {"rediss+unix", LK__SCHEME_UNIX, true, false},
    {"valkeys+unix", LK__SCHEME_UNIX, true, false},
    {"sentinel", LK__SCHEME_SENTINEL_OTHER, false, false},
    {"redis+sentinel", LK__SCHEME_SENTINEL, false, false},
    {"rediss+sentinel", LK__SCHEME_SENTINEL, true, false},
    {"redis+sentinel+tls", LK__SCHEME_SENTINEL, true, false},
    {"valkey+sentinel", LK__SCHEME_SENTINEL, false, false},
    {"valkeys+sentinel", LK__SCHEME_SENTINEL, true, false},
    {"valkey+sentinel+tls", LK__SCHEME_SENTINEL, true, false},
    {"redis-sentinel", LK__SCHEME_SENTINEL, false, true},
    {"rediss-sentinel", LK__SCHEME_SENTINEL, true, true},
    {"valkey-sentinel", LK__SCHEME_SENTINEL, false, true},
    {"valkeys-sentinel", LK__SCHEME_SENTINEL, true, true},
    {"redis+cluster", LK__SCHEME_CLUSTER, false, false},
    {"redis-cluster", LK__SCHEME_CLUSTER, false, false},
    {"rediss+cluster", LK__SCHEME_CLUSTER, true, false},
    {"rediss-cluster", LK__SCHEME_CLUSTER, true, false},
    {"valkey+cluster", LK__SCHEME_CLUSTER, false, false},
    {"valkey-cluster", LK__SCHEME_CLUSTER, false, false},
    {"valkeys+cluster", LK__SCHEME_CLUSTER, true, false},
    {"valkeys-cluster", LK__SCHEME_CLUSTER, true, false},
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
    if (scheme->kind == LK__SCHEME_UNIX && scheme->tls)
        return lk__fail(LK_ENOTSUP,
                        "the URL's scheme '%s' asks for TLS on a unix socket, "
                        "which no server has; write unix:/path",
                        scheme->word);
    if (scheme->kind == LK__SCHEME_SENTINEL_OTHER)
        return lk__fail(LK_EURL,
                        "a URL of the scheme '%s' does not name the master; "
                        "write redis+sentinel://host,host/master/db",
                        scheme->word);
    return LK_OK;
}
