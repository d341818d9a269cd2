/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_URL_PART_H
#define LK_SETTINGS_URL_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "settings/url.h"
#include "settings/url_scheme.h"

/* A part of a URL that is being read, and what is wrong with it. */

/* Under construction. text is the caller's, url->text the copy of it. */
typedef struct lk__url_parser {
    const char *text;
    lk__url *url;
    const lk__scheme *scheme;
    size_t authority_end; /* where user, host and port end */
    /* Places in the copy; NULL: not there. */
    const char *user, *password; /* before the @ */
    const char *portless;        /* the first host without a port */
    const char *db;              /* the database that counts */
    const char *group_option;    /* the first that wants Sentinel */
    const char *failover;        /* it wants Sentinel or a cluster */
} lk__url_parser;

/*
 * Tells whether an '@' comes so late that it may end a password which was
 * not encoded.
 */
bool lk__url_has_late_at(const lk__url_parser *parser);

/* Refuses what stands at a place in the copy. what: "the port is not ...". */
lk_status
lk__url_refuse(const lk__url_parser *parser, const char *at, const char *what);

bool lk__url_is_control(char byte);

/* Refuses what has to be encoded wherever it stands, from here to the end. */
lk_status lk__url_check_bytes(const lk__url_parser *parser, const char *at);

/*
 * Decodes the part from begin up to end, in place, and ends it with a NUL,
 * which overwrites *end when nothing was encoded.
 */
lk_status
lk__url_decode(const lk__url_parser *parser, char *begin, const char *end);

/* Reads host and port, from begin to end; a port that is left out stays. */
lk_status lk__url_read_server(const lk__url_parser *parser, char *begin,
                              char *end, lk__url_server *server);

#endif /* LK_SETTINGS_URL_PART_H */
