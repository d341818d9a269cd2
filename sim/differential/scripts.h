/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_SCRIPTS_H
#define LK_SIM_DIFFERENTIAL_SCRIPTS_H

#include <stdbool.h>

#include "base/script.h"

/*
 * The library's scripts, with what their headers say of keys and arguments.
 */

enum { SCRIPT_WORDS = 24, SCRIPT_WORD = 24 };

typedef struct script {
    const lk__script *script;
    char family[SCRIPT_WORD]; /* scripts of one family share their keys */
    unsigned key_count, arg_count;
    char keys[SCRIPT_WORDS][SCRIPT_WORD];
    char args[SCRIPT_WORDS][SCRIPT_WORD];
    unsigned args_needed; /* those behind may be missing */
    bool is_series;  /* keys and arguments again and again, for each hold */
    bool is_layout3; /* its words are those of layout3.h, and it has its own: */
    lk__script own;
    char sha1[41];
    char *body;
} script;

/* Reads the headers in lua/, and lua/layout3. */
script *scripts_read(unsigned *ret_count);
void scripts_free(script *scripts, unsigned count);

#endif /* LK_SIM_DIFFERENTIAL_SCRIPTS_H */
