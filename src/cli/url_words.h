/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_URL_WORDS_H
#define LK_CLI_URL_WORDS_H

#include <stdio.h>

/*
 * Says in a few lines what a URL means, which is in the spelling of
 * lk_url_describe(): which servers, which database, whether with TLS, and as whom.
 */
void cli_url_words(FILE *to, const char *url);

#endif /* LK_CLI_URL_WORDS_H */
