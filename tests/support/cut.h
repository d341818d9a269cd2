/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CUT_H
#define LK_TESTS_SUPPORT_CUT_H

#include "support/layout3.h"

/*
 * The cut rule: wherever a script of layout 3 stops behind one of its writes, no two
 * believe that they hold, the name is free again within a claim lease, and a touch
 * heals what is left.
 *
 * Of a row the script is run in its world once for each of its writes and stopped
 * behind it, with its actor told of the error, and with its actor dead; and those
 * that live ask in either order what has become of them. Then they go on, as clients
 * do, until each has had the name.
 */

/* What a client does after an error of the script. */
typedef enum cut_after {
    CUT_OVER, /* its claim is over, and its field is deleted alone */
    CUT_ON,   /* it goes on as before */
} cut_after;

typedef struct cut_row {
    const char *title;
    void (*begin)(script_fixture *f);      /* makes the world */
    const char *(*run)(script_fixture *f); /* the script */
    const char *actor;                     /* the claim that it is about */
    cut_after after;
    const char
        *live; /* all other claims whose clients live, with blanks between */
    const char *
        holder; /* the one that holds throughout; NULL: nobody may rely on it */
    /* A dead actor's hold lasts for its lease, where the cut comes before its end is
       set: behind a popped waiter. */
    bool may_last;
} cut_row;

/* Fails the test where the rule is broken, or if the script writes nothing. */
void cut_check(script_fixture *f, const cut_row *row);

#endif /* LK_TESTS_SUPPORT_CUT_H */
