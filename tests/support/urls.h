/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_URLS_H
#define LK_TESTS_SUPPORT_URLS_H

#include <latchkey/status.h>

#include <stddef.h>

#include "settings/url.h"

/*
 * For tests of what a URL is understood as: the one that was read last.
 */

extern lk__url url;

/* For cmocka. */
int urls_end(void **state);

#define URL_TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, urls_end)

/* It must be understood. */
void url_read(const char *text);

/* It must be refused for that, in these words among others, and url be as it was.
   The first one: with LK_EURL. */
void assert_url_refused(const char *text, const char *words);
void assert_url_fails(const char *text, lk_status status, const char *words);

/* Texts of url; NULL is one of them. */
void assert_url_text(const char *actual, const char *expected);

/* The server of url at this place. */
void assert_url_server(size_t index, const char *host, unsigned port);

#endif /* LK_TESTS_SUPPORT_URLS_H */
