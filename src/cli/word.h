/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_WORD_H
#define LK_CLI_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* Which of the words in "a|b|c" text is; -1: none. */
int cli_word_find(const char *words, const char *text);

/* How many of the first size bytes a message may quote, if it leaves out the rest:
   of a URL what is before its password. */
size_t cli_word_quotable(const char *text, size_t size);

/* Whether it has digits alone: what is meant by `semaphore -n 3 NAME`, say, where
   the number is taken for the name. */
bool cli_word_is_number(const char *text);

/* Whether a shell would find a program under it. */
bool cli_word_is_program(const char *text);

/* How many letters have to change to make b of a; long words are far. */
size_t cli_distance(const char *a, const char *b);

/* From which distance on another word is not what was meant. */
size_t cli_nearness(const char *word);

#endif /* LK_CLI_WORD_H */
