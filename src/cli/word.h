/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_WORD_H
#define LK_CLI_WORD_H

/* Which of the words in "a|b|c" text is; -1: none. */
int cli_word_find(const char *words, const char *text);

#endif /* LK_CLI_WORD_H */
