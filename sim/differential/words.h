/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_WORDS_H
#define LK_SIM_DIFFERENTIAL_WORDS_H

#include "differential/scripts.h"
#include "server/memory.h"

/* Arguments by chance. */

enum { FENCES = 32, WORDS_MOST = 64 };

typedef struct words {
    uint64_t random;
    char fences[FENCES][SIM_NUMBER]; /* seen in replies */
    sim_buffer text;                 /* of the arguments */
    char owner[SIM_NUMBER];          /* the last one */
    char claim[64]; /* of layout 3, the last of these arguments */
    size_t offsets[WORDS_MOST];
    int count;
} words;

/* A number in [0, limit). */
unsigned words_chance(words *w, unsigned limit);
/* A number of a reply, perhaps a fence. */
void words_note(words *w, sim_str number);

/* Begins another list of arguments. */
void words_begin(words *w);
void words_add(words *w, sim_str word);
void words_print(words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The list; args has room for WORDS_MOST. Returns how many they are. */
int words_end(words *w, sim_str *args);

/* Adds the key of that role in a family, of one of the names. */
void words_key(words *w, const char *family, unsigned name, const char *role);
/* Adds what an argument that is called so may be. */
void words_argument(words *w, const char *called, unsigned name);
/* Adds something that nobody expects. */
void words_hostile(words *w);

#endif /* LK_SIM_DIFFERENTIAL_WORDS_H */
