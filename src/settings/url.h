/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_URL_H
#define LK_SETTINGS_URL_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/options.h"

/*
 * Where a server is and how to talk to it, out of one line of text.
 *
 *   redis://[user[:password]@]host[:port][/db][?key=value&...]
 *   rediss://...
 *   unix:/path[?key=value&...]
 *   redis+sentinel://[user[:password]@]host[:port][,...]/master[/db][?...]
 *   rediss+sentinel://...
 *   redis+cluster://[user[:password]@]host[:port][,...][?key=value&...]
 *   rediss+cluster://...
 *
 * docs/url.md lists the other spellings. Every part is percent-decoded once.
 * No error text repeats a part of the URL that may hold a password.
 */
enum { LK__URL_PORT = 6379, LK__URL_SENTINEL_PORT = 26379 };

enum { LK__SENTINELS_MOST = 15, LK__SEEDS_MOST = 15, LK__TENANT_MAX = 32 };

typedef struct lk__url_server {
    const char *host; /* IPv6 without brackets */
    uint16_t port;
} lk__url_server;

typedef struct lk__url {
    char *text;         /* owned, decoded in place; all below point into it */
    size_t size;        /* of text, to wipe it */
    const char *host;   /* NULL: none, or several; IPv6 without brackets */
    const char *path;   /* NULL: TCP */
    uint16_t port;      /* 0 without a host */
    const char *master; /* its name; NULL: no Sentinel */
    lk__url_server servers[LK__SEEDS_MOST]; /* of several hosts: sentinels, or
                                               nodes of a cluster */
    size_t server_count;
    bool is_cluster;
    bool tls;
    lk_client_options options; /* from user info, path and query */
} lk__url;

/*
 * Reads text into ret_url, which is untouched unless LK_OK. LK_EURL: not
 * understood; LK_ENOTSUP: a socket with TLS, which no server has; LK_ENOMEM.
 */
lk_status lk__url_parse(lk__url *ret_url, const char *text);

/* Writes a URL in its canonical spelling. LK_EINVAL: size is too small. */
lk_status lk__url_describe(const lk__url *url, char *text, size_t size);

/* Wipes and frees. Zeroed is allowed. */
void lk__url_done(lk__url *url);

#endif /* LK_SETTINGS_URL_H */
