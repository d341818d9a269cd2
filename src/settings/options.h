/* SPDX-License-Identifier: MIT */
#ifndef LK_SETTINGS_OPTIONS_H
#define LK_SETTINGS_OPTIONS_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sized.h"

/*
 * What a client can be told: the struct of a caller of any release.
 *
 * One table names each option of a client with its kind, default and bounds.
 * The struct, the keys of a URL, lk_client_options_set() and docs/url.md all
 * follow it.
 */

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

/* Fills what options leave open from the URL's, then from the defaults. */
void lk__options_fill(lk_client_options *options, const lk_client_options *url);

/* Checks the fields of the caller's struct. Zero, the default, is always right. */
lk_status lk__options_check(const lk_client_options *options);

/* Of a URL without TLS: a caller that asks for TLS by a field of the struct shall
   not get a plain stream. */
lk_status lk__options_check_plain(const lk_client_options *options);

#endif /* LK_SETTINGS_OPTIONS_H */
