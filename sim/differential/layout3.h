/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_LAYOUT3_H
#define LK_SIM_DIFFERENTIAL_LAYOUT3_H

#include "differential/scripts.h"

/*
 * The scripts of lua/layout3, which the library does not run yet: they are read from
 * there. One that publishes is there twice, as it is and for sharded channels.
 */

/* How many they are at most. */
unsigned layout3_most(void);
/* Reads them; the first has this index. Returns how many they are. A script that
   nothing is known of ends the program. */
unsigned layout3_read(script *scripts, unsigned index);

struct words;

/* As words_key() and words_argument(), in the words of these scripts. */
void layout3_key(struct words *w, const char *family, unsigned name,
                 const char *role);
void layout3_argument(struct words *w, const char *called, unsigned name);

#endif /* LK_SIM_DIFFERENTIAL_LAYOUT3_H */
