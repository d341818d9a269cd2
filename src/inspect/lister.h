/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_LISTER_H
#define LK_INSPECT_LISTER_H

#include <latchkey/inspect.h>

#include "inspect/listing.h"
#include "inspect/silent.h"
#include "inspect/walk.h"

/*
 * One list of names under way: list.c finds the names, lister.c reads them.
 */

enum {
    LK__LISTER_LOOKS = 48, /* names that are read at once */
    LK__LISTER_ASKS = 5    /* commands of one name under way */
};

struct lk__lister;

/* One name that is being read. */
struct lk__look {
    struct lk__lister *lister;
    lk__lister_name *name;
    unsigned pending;
    int round;   /* of questions, under way */
    bool many;   /* its hash has more fields than were looked at */
    char *claim; /* whom the record is about */
    char *mark;  /* what is on record of the reader that is shown */
    size_t read; /* of those who wait */
    lk__suspects suspects;
    lk_kind hash_kind, record_kind;
    struct lk__look_ask {
        lk__probing probing; /* first */
        struct lk__look *look;
        void (*take)(struct lk__look *look, const redisReply *reply);
    } asks[LK__LISTER_ASKS];
};

struct lk__lister {
    lk__probe probe; /* first */
    lk_list_options options;
    char *pattern; /* of names; NULL: all */
    lk__names *names;
    lk__walk walk;
    lk__probing mode; /* the question whether one server is all there is */
    size_t next;      /* name to be read */
    struct lk__look looks[LK__LISTER_LOOKS];
    lk_list_cb cb;
    void *data;
};

/* Begins to read the names that were found. */
void lk__lister_read(struct lk__lister *lister);

#endif /* LK_INSPECT_LISTER_H */
