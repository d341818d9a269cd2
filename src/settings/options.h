/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_OPTIONS_H
#define LK_SETTINGS_OPTIONS_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sized.h"
#include "world/world.h"

/*
 * What a client can be told: the struct of a caller of any release, and the
 * client's own copy of what it was told, defaults filled in.
 *
 * One table names each option of a client with its kind, default and bounds.
 * The struct, the keys of a URL, lk_client_options_set() and docs/url.md all
 * follow it.
 */

enum { LK__SENTINELS_MOST = 15, LK__SEEDS_MOST = 15, LK__TENANT_MAX = 32 };

/* How the text of an option is read. */
typedef enum lk__option_kind {
    LK__OPTION_STRING,
    LK__OPTION_COUNT,  /* decimal digits */
    LK__OPTION_MS,     /* digits and ms, s, m or h; bare digits: ms; 0:42 */
    LK__OPTION_FLAG,   /* 1, 0, true, false, yes, no, on, off */
    LK__OPTION_CHOICE, /* one of a list of words */
} lk__option_kind;

/* One word of a choice; the list ends with word NULL. */
typedef struct lk__choice {
    const char *word;
    uint64_t value;
} lk__choice;

/* One option that text can set. Numbers are uint64_t, strings const char *. */
typedef struct lk__option {
    const char *key;
    lk__option_kind kind;
    size_t offset;              /* in lk_client_options */
    uint64_t initial, min, max; /* of numbers; max bytes of strings */
    const lk__choice *choices;
} lk__option;

extern const lk__option lk__options[];
extern const size_t lk__option_count;

/* Returns the option of that key, or NULL. */
const lk__option *lk__option_find(const char *key);

/* Tells whether it is one that only a URL with TLS, or one of Sentinel, may
   have. */
bool lk__option_is_tls(const lk__option *option);
bool lk__option_is_sentinel(const lk__option *option);

/*
 * Sets a field by its key. value is borrowed by string options. bad is what to
 * answer for an unknown key or a value that cannot be taken.
 */
lk_status lk__options_set(lk_client_options *options, const char *key,
                          const char *value, lk_status bad);

/*
 * All that a client was told. Every field has its final value. Strings are
 * owned; those that may be NULL say so. Do not copy the struct.
 */
typedef struct lk__settings {
    lk__address
        address; /* borrows host or path, and tls, below; of Sentinel and
                            of a cluster it has neither */
    struct lk__tls *tls; /* NULL: plain */
    char *host;          /* NULL: none, or several; IPv6 without brackets */
    char *path;          /* NULL: TCP */
    char *master;        /* its name; NULL: no Sentinel */
    lk__address sentinels[LK__SENTINELS_MOST]; /* their hosts are owned */
    size_t sentinel_count;
    lk__address
        seeds[LK__SEEDS_MOST]; /* nodes of a cluster that are asked first;
                                          their hosts are owned */
    size_t seed_count;         /* 0: no cluster */
    char *sentinel_user, *sentinel_password; /* as below, of the sentinels */
    lk_failover failover;
    char *user;     /* NULL: the server's default user */
    char *password; /* NULL: no AUTH. Never NULL beside a user, but
                            perhaps "" */
    char *name;     /* visible ASCII, as CLIENT SETNAME wants it */
    char *under;    /* NULL: it acts for itself alone */
    char *tenant;   /* "": none */
    uint64_t db;
    uint64_t connect_timeout_ms;
    uint64_t command_timeout_ms;
    uint64_t offline_ms;
    uint64_t watchdog_ms;
    uint64_t fence_keep_ms; /* records of unused names live so long */
    uint64_t max_pending;
    lk_tls_verify tls_verify;
    lk_interop interop;
    bool dispatch;
    lk_log_cb log; /* NULL: silent */
    void *log_data;
    lk_log_level log_level;
} lk__settings;

struct lk__url;

/*
 * Reads the URL and the options; a field that is not zero beats the URL.
 * Untouched unless LK_OK; else LK_EURL, LK_EINVAL, LK_ENOTSUP, LK_ENOMEM with
 * words in lk_last_error(). options may be NULL, url may not.
 */
lk_status lk__settings_make(lk__settings *ret_settings, const char *url,
                            const lk_client_options *options);

/* The same of a URL that was read, and of options that were checked; what those
   leave open is filled in. */
lk_status lk__settings_of(lk__settings *ret_settings, const struct lk__url *url,
                          lk_client_options *options);

/* Wipes the password and frees the strings. Zeroed settings are allowed. */
void lk__settings_done(lk__settings *settings);

#endif /* LK_SETTINGS_OPTIONS_H */
