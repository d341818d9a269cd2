/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_VALUE_H
#define LK_SIM_SERVER_VALUE_H

#include "server/map.h"

/* What a key holds. */

typedef enum sim_type {
    SIM_STRING,
    SIM_LIST,
    SIM_SET,
    SIM_ZSET,
    SIM_HASH
} sim_type;

enum { SIM_FOR_EVER = -1 };

typedef struct sim_list {
    sim_text **items; /* items[first] to items[first + count - 1] */
    size_t first, count, room;
} sim_list;

/* scores says where an element is, order has them by score and bytes. */
typedef struct sim_zset {
    sim_map scores;
    sim_entry **order;
    size_t room;
} sim_zset;

typedef struct sim_value {
    sim_type type;
    int64_t expires_ms; /* since 1970, or SIM_FOR_EVER */
    bool is_table; /* it had many or long elements: SCAN takes it in pieces */
    union {
        sim_text *string;
        sim_list list;
        sim_map map; /* a set, or a hash of sim_text */
        sim_zset zset;
    };
} sim_value;

/* Empty; the text of a string is NULL. */
sim_value *sim_value_new(sim_type type);
void sim_value_free(void *data);
sim_value *sim_value_copy(const sim_value *value);
const char *sim_type_name(sim_type type);

/* Notes an element of a hash or of a sorted set, for is_table: more than so
 * many are many, and more bytes are long. */
void sim_value_note(sim_value *value, sim_str element, int64_t many,
                    int64_t bytes);

void sim_string_set(sim_value *value, sim_str str);

/* Adds the field or changes its value; true: it was not there. */
bool sim_hash_set(sim_map *hash, sim_str field, sim_str value);
/* False: it was not there. */
bool sim_hash_remove(sim_map *hash, sim_str field);
/* NULL: no such field. */
const sim_text *sim_hash_get(const sim_map *hash, sim_str field);

void sim_list_push(sim_list *list, bool at_head, sim_str item);
/* In front of what stands at index, or behind all. */
void sim_list_insert(sim_list *list, size_t index, sim_str item);
/* The caller's to free. There must be one. */
sim_text *sim_list_take(sim_list *list, size_t index);
sim_str sim_list_at(const sim_list *list, size_t index);

/* Adds the element or changes its score. */
void sim_zset_set(sim_zset *zset, sim_str element, double score);
void sim_zset_remove(sim_zset *zset, sim_entry *entry);
/* Where it is in the order. */
size_t sim_zset_rank(const sim_zset *zset, const sim_entry *entry);

/* Writes the value as text, sorted where it has no order. */
void sim_value_dump(const sim_value *value, sim_buffer *buffer);
/* A hash of the same, whatever the order. */
uint64_t sim_value_hash(const sim_value *value);
/* Writes a string between quotes, so that it stays on one line. */
void sim_quote(sim_buffer *buffer, sim_str str);

#endif /* LK_SIM_SERVER_VALUE_H */
