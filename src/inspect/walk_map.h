/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_WALK_MAP_H
#define LK_INSPECT_WALK_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slot.h"

/*
 * Which slots a master has, as its own line of CLUSTER NODES says, and what
 * became of them from one time of asking to the next. Talks to nobody.
 */

/* What a line says of slots. */
typedef enum lk__slot_word {
    LK__SLOT_HAS,  /* "0-5460", "7" */
    LK__SLOT_GOES, /* "[7->-<id>]": it has it, and keys go there */
    LK__SLOT_COMES /* "[7-<-<id>]": keys come from there */
} lk__slot_word;

/* The line of the node that was asked, in the answer to CLUSTER NODES; *ret_size:
   its length. NULL: there is none. */
const char *lk__own_line(const char *text, size_t *ret_size);

/* The epoch of the line's node. It grows when a slot comes to it, unless it was the
   last to get one; then that of the node grows to which the slot had gone. */
unsigned lk__line_epoch(const char *line);

/* Calls each for all that a line says, from the first slot to the last. */
void lk__line_read(const char *line,
                   void (*each)(void *data, lk__slot_word word, unsigned first,
                                unsigned last),
                   void *data);

/* Which part owns each slot, by the parts' numbers, from 1; 0: none of those that
   were asked. */
typedef struct lk__walk_slots {
    unsigned short owners[LK__SLOTS];
    unsigned
        epochs[LK__SLOTS]; /* of the owner: grown where the slot may have left
                                   it and come back since */
    bool moves[LK__SLOTS]; /* half */
} lk__walk_slots;

typedef struct lk__walk_map {
    lk__walk_slots before, now;
    bool open[LK__SLOTS]; /* it is not sure that all of its keys were seen */
} lk__walk_map;

/* What is open after a round, the first or a later one. Returns how many are. */
size_t lk__walk_map_judge(lk__walk_map *map, bool is_first);

/* Whether an open slot has nobody. */
bool lk__walk_map_has_hole(const lk__walk_map *map);

#endif /* LK_INSPECT_WALK_MAP_H */
