/* SPDX-License-Identifier: MIT */

/* What redis-py, redis-cli, Lettuce and go-redis call settings. */

#include "settings/url_alias.h"

#include <stddef.h>
#include <strings.h>

typedef struct word {
    const char *theirs; /* NULL: the end */
    const char *ours;
} word;

static const word required[] = {{"required", "full"},
                                {"none", "none"},
                                {NULL, NULL}};
static const word peers[] = {{"full", "full"},  {"ca", "ca"},
                             {"none", "none"},  {"true", "full"},
                             {"false", "none"}, {NULL, NULL}};
static const word skips[] = {{"true", "none"},
                             {"1", "none"},
                             {"false", "full"},
                             {"0", "full"},
                             {NULL, NULL}};

static const struct {
    word key;
    const word *values; /* NULL: the value stays */
} aliases[] = {
    {{"ssl_ca_certs", "tls_ca_file"}, NULL},
    {{"ssl_ca_path", "tls_ca_dir"}, NULL},
    {{"ssl_certfile", "tls_cert_file"}, NULL},
    {{"ssl_keyfile", "tls_key_file"}, NULL},
    {{"ssl_cert_reqs", "tls_verify"}, required},
    {{"cacert", "tls_ca_file"}, NULL},
    {{"cacertdir", "tls_ca_dir"}, NULL},
    {{"cert", "tls_cert_file"}, NULL},
    {{"key", "tls_key_file"}, NULL},
    {{"sni", "tls_server_name"}, NULL},
    {{"verifyPeer", "tls_verify"}, peers},
    {{"skip_verify", "tls_verify"}, skips},
    {{"sentinel_username", "sentinel_user"}, NULL},
    {{"username", "user"}, NULL},
    {{"database", "db"}, NULL},
    {{"client_name", "name"}, NULL},
    {{"clientName", "name"}, NULL},
};

static const char *translate(const word *words, const char *value)
{
    for (; words != NULL && words->theirs != NULL; words++) {
        if (strcasecmp(words->theirs, value) == 0)
            return words->ours;
    }
    return value;
}

void lk__url_alias(const char **key, const char **value)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcasecmp(aliases[i].key.theirs, *key) != 0)
            continue;
        *key = aliases[i].key.ours;
        *value = translate(aliases[i].values, *value);
        return;
    }
}
