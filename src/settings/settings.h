/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_SETTINGS_H
#define LK_SETTINGS_SETTINGS_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings/url.h"
#include "world/world.h"

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

/*
 * Reads the URL and the options; a field that is not zero beats the URL.
 * Untouched unless LK_OK; else LK_EURL, LK_EINVAL, LK_ENOTSUP, LK_ENOMEM with
 * words in lk_last_error(). options may be NULL, url may not.
 */
lk_status lk__settings_make(lk__settings *ret_settings, const char *url,
                            const lk_client_options *options);

/* The same of a URL that was read, and of options that were checked; what those
   leave open is filled in. */
lk_status lk__settings_of(lk__settings *ret_settings, const lk__url *url,
                          lk_client_options *options);

/* Wipes the password and frees the strings. Zeroed settings are allowed. */
void lk__settings_done(lk__settings *settings);

#endif /* LK_SETTINGS_SETTINGS_H */
