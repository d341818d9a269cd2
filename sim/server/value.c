/* SPDX-License-Identifier: MIT */

#include "server/value.h"

#include <stdlib.h>
#include <string.h>

sim_value *sim_value_new(sim_type type)
{
    sim_value *value = sim_alloc(sizeof(*value));

    value->type = type;
    value->expires_ms = SIM_FOR_EVER;
    return value;
}

const char *sim_type_name(sim_type type)
{
    static const char *const names[] = {"string", "list", "set", "zset",
                                        "hash"};

    return names[type];
}

static void list_clear(sim_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[list->first + i]);
    free(list->items);
}

void sim_value_free(void *data)
{
    sim_value *value = data;

    if (value == NULL)
        return;
    if (value->type == SIM_STRING) {
        free(value->string);
    } else if (value->type == SIM_LIST) {
        list_clear(&value->list);
    } else if (value->type == SIM_ZSET) {
        sim_map_clear(&value->zset.scores, NULL);
        free(value->zset.order);
    } else {
        sim_map_clear(&value->map, free);
    }
    free(value);
}

static void copy_inside(sim_value *copy, const sim_value *value)
{
    if (value->type == SIM_STRING) {
        copy->string = sim_text_new(sim_text_str(value->string));
    } else if (value->type == SIM_LIST) {
        for (size_t i = 0; i < value->list.count; i++)
            sim_list_push(&copy->list, false, sim_list_at(&value->list, i));
    } else if (value->type == SIM_ZSET) {
        for (const sim_entry *at = value->zset.scores.first; at != NULL;
             at = at->next)
            sim_zset_set(&copy->zset, sim_entry_key(at), at->score);
    } else {
        for (const sim_entry *at = value->map.first; at != NULL;
             at = at->next) {
            sim_entry *entry = sim_map_add(&copy->map, sim_entry_key(at));

            if (at->pointer != NULL)
                entry->pointer = sim_text_new(sim_text_str(at->pointer));
        }
    }
}

sim_value *sim_value_copy(const sim_value *value)
{
    sim_value *copy = sim_value_new(value->type);

    copy->expires_ms = value->expires_ms;
    copy->is_table = value->is_table;
    copy_inside(copy, value);
    return copy;
}

void sim_value_note(sim_value *value, sim_str element, int64_t many,
                    int64_t bytes)
{
    size_t count =
        value->type == SIM_ZSET ? value->zset.scores.count : value->map.count;

    if ((int64_t)count > many || (int64_t)element.size > bytes)
        value->is_table = true;
}

void sim_string_set(sim_value *value, sim_str str)
{
    sim_text *text = sim_text_new(str);

    free(value->string);
    value->string = text;
}

/* ---- hashes ------------------------------------------------------------- */

bool sim_hash_set(sim_map *hash, sim_str field, sim_str value)
{
    sim_entry *entry = sim_map_find(hash, field);
    bool is_new = entry == NULL;
    sim_text *text;

    if (is_new)
        entry = sim_map_add(hash, field);
    text = entry->pointer;
    if (text != NULL && text->size == value.size) {
        memmove(text->bytes, value.bytes, value.size);
        return false;
    }
    entry->pointer = sim_text_new(value);
    free(text);
    return is_new;
}

bool sim_hash_remove(sim_map *hash, sim_str field)
{
    sim_entry *entry = sim_map_find(hash, field);

    if (entry == NULL)
        return false;
    free(entry->pointer);
    sim_map_remove(hash, entry);
    return true;
}

const sim_text *sim_hash_get(const sim_map *hash, sim_str field)
{
    const sim_entry *entry = sim_map_find(hash, field);

    return entry == NULL ? NULL : entry->pointer;
}

/* ---- lists -------------------------------------------------------------- */

/* Moves what is there to the middle of a larger room. */
static void list_grow(sim_list *list)
{
    size_t room = 2 * list->count + 8;
    size_t first = (room - list->count) / 2;
    sim_text **items = sim_alloc(room * sizeof(void *));

    if (list->count > 0)
        memcpy(items + first, list->items + list->first,
               list->count * sizeof(void *));
    free(list->items);
    list->items = items;
    list->first = first;
    list->room = room;
}

void sim_list_push(sim_list *list, bool at_head, sim_str item)
{
    bool is_full =
        at_head ? list->first == 0 : list->first + list->count == list->room;

    if (is_full)
        list_grow(list);
    if (at_head)
        list->items[--list->first] = sim_text_new(item);
    else
        list->items[list->first + list->count] = sim_text_new(item);
    list->count++;
}

void sim_list_insert(sim_list *list, size_t index, sim_str item)
{
    sim_text **at, *text;

    sim_list_push(list, false, item);
    at = list->items + list->first + index;
    text = list->items[list->first + list->count - 1];
    memmove(at + 1, at, (list->count - 1 - index) * sizeof(void *));
    *at = text;
}

sim_text *sim_list_take(sim_list *list, size_t index)
{
    sim_text **at = list->items + list->first + index;
    sim_text *item = *at;

    if (index == 0)
        list->first++;
    else
        memmove(at, at + 1, (list->count - index - 1) * sizeof(void *));
    list->count--;
    return item;
}

sim_str sim_list_at(const sim_list *list, size_t index)
{
    return sim_text_str(list->items[list->first + index]);
}

/* ---- sorted sets -------------------------------------------------------- */

static int zset_compare(const sim_entry *a, const sim_entry *b)
{
    if (a->score < b->score || a->score > b->score)
        return a->score < b->score ? -1 : 1;
    return sim_str_compare(sim_entry_key(a), sim_entry_key(b));
}

/* The first of count places whose element does not come before this one. */
static size_t
zset_place(const sim_zset *zset, size_t count, const sim_entry *entry)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zset_compare(zset->order[middle], entry) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sim_zset_rank(const sim_zset *zset, const sim_entry *entry)
{
    return zset_place(zset, zset->scores.count, entry);
}

static void order_remove(sim_zset *zset, const sim_entry *entry)
{
    size_t rank = sim_zset_rank(zset, entry);

    memmove(zset->order + rank, zset->order + rank + 1,
            (zset->scores.count - rank - 1) * sizeof(void *));
}

static void order_add(sim_zset *zset, sim_entry *entry, size_t others)
{
    size_t place = zset_place(zset, others, entry);

    memmove(zset->order + place + 1, zset->order + place,
            (others - place) * sizeof(void *));
    zset->order[place] = entry;
}

void sim_zset_set(sim_zset *zset, sim_str element, double score)
{
    sim_entry *entry = sim_map_find(&zset->scores, element);

    if (entry != NULL)
        order_remove(zset, entry);
    else
        entry = sim_map_add(&zset->scores, element);
    if (zset->scores.count > zset->room) {
        zset->room = 2 * zset->scores.count + 6;
        zset->order = sim_resize(zset->order, zset->room * sizeof(void *));
    }
    entry->score = score;
    order_add(zset, entry, zset->scores.count - 1);
}

void sim_zset_remove(sim_zset *zset, sim_entry *entry)
{
    order_remove(zset, entry);
    sim_map_remove(&zset->scores, entry);
}
