/* SPDX-License-Identifier: MIT */

/* The data as text, and as a hash. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

void sim_quote(sim_buffer *buffer, sim_str str)
{
    sim_buffer_add(buffer, sim_str_of("\""));
    for (size_t i = 0; i < str.size; i++) {
        unsigned char byte = (unsigned char)str.bytes[i];

        if (byte < 128 && isprint(byte) && byte != '"' && byte != '\\')
            *sim_buffer_more(buffer, 1) = (char)byte;
        else
            sim_buffer_print(buffer, "\\x%02x", byte);
    }
    sim_buffer_add(buffer, sim_str_of("\""));
}

static int by_key(const void *a, const void *b)
{
    const sim_entry *const *left = a, *const *right = b;

    return sim_str_compare(sim_entry_key(*left), sim_entry_key(*right));
}

/* The entries by their keys; the caller's to free. */
static const sim_entry **sorted(const sim_map *map)
{
    const sim_entry **entries = sim_alloc(map->count * sizeof(sim_entry *));
    size_t count = 0;

    for (const sim_entry *at = map->first; at != NULL; at = at->next)
        entries[count++] = at;
    qsort(entries, count, sizeof(sim_entry *), by_key);
    return entries;
}

static void map_dump(const sim_map *map, sim_buffer *buffer)
{
    const sim_entry **entries = sorted(map);

    for (size_t i = 0; i < map->count; i++) {
        sim_buffer_add(buffer, sim_str_of(" "));
        sim_quote(buffer, sim_entry_key(entries[i]));
        if (entries[i]->pointer != NULL) {
            sim_buffer_add(buffer, sim_str_of("="));
            sim_quote(buffer, sim_text_str(entries[i]->pointer));
        }
    }
    free(entries);
}

static void zset_dump(const sim_zset *zset, sim_buffer *buffer)
{
    char score[SIM_NUMBER];

    for (size_t i = 0; i < zset->scores.count; i++) {
        sim_double_write(score, zset->order[i]->score);
        sim_buffer_print(buffer, " %s:", score);
        sim_quote(buffer, sim_entry_key(zset->order[i]));
    }
}

void sim_value_dump(const sim_value *value, sim_buffer *buffer)
{
    if (value->type == SIM_STRING) {
        sim_buffer_add(buffer, sim_str_of(" "));
        sim_quote(buffer, sim_text_str(value->string));
    } else if (value->type == SIM_LIST) {
        for (size_t i = 0; i < value->list.count; i++) {
            sim_buffer_add(buffer, sim_str_of(" "));
            sim_quote(buffer, sim_list_at(&value->list, i));
        }
    } else if (value->type == SIM_ZSET) {
        zset_dump(&value->zset, buffer);
    } else {
        map_dump(&value->map, buffer);
    }
}

char *sim_server_dump(const sim_server *server)
{
    int64_t now = sim_server_now_ms(server);
    sim_buffer buffer = {0};

    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        const sim_entry **keys = sorted(&server->databases[db]);

        for (size_t i = 0; i < server->databases[db].count; i++) {
            const sim_value *value = keys[i]->pointer;

            if (sim_value_is_over(value, now))
                continue;
            sim_buffer_print(&buffer, "%u ", db);
            sim_quote(&buffer, sim_entry_key(keys[i]));
            sim_buffer_print(&buffer, " %s %lld", sim_type_name(value->type),
                             (long long)value->expires_ms);
            sim_value_dump(value, &buffer);
            sim_buffer_add(&buffer, sim_str_of("\n"));
        }
        free(keys);
    }
    *sim_buffer_more(&buffer, 1) = '\0';
    return buffer.bytes;
}

/* ---- hashes ------------------------------------------------------------- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ b * UINT64_C(0xd6e8feb86659fd93);

    return sim_random(&state);
}

static uint64_t map_hash(const sim_map *map)
{
    uint64_t sum = 0;

    for (const sim_entry *at = map->first; at != NULL; at = at->next)
        sum +=
            mixed(at->hash, at->pointer == NULL
                                ? 0
                                : sim_str_hash(sim_text_str(at->pointer)) + 1);
    return sum;
}

static uint64_t zset_hash(const sim_map *scores)
{
    uint64_t sum = 0, bits;

    for (const sim_entry *at = scores->first; at != NULL; at = at->next) {
        memcpy(&bits, &at->score, sizeof(bits));
        sum += mixed(at->hash, bits);
    }
    return sum;
}

uint64_t sim_value_hash(const sim_value *value)
{
    uint64_t hash = 0;

    if (value->type == SIM_STRING)
        hash = sim_str_hash(sim_text_str(value->string));
    else if (value->type == SIM_ZSET)
        hash = zset_hash(&value->zset.scores);
    else if (value->type != SIM_LIST)
        hash = map_hash(&value->map);
    else
        for (size_t i = 0; i < value->list.count; i++)
            hash = mixed(hash, sim_str_hash(sim_list_at(&value->list, i)));
    return mixed(hash, (uint64_t)value->expires_ms * 8 + value->type);
}

uint64_t sim_server_hash(const sim_server *server)
{
    int64_t now = sim_server_now_ms(server);
    uint64_t sum = 0;

    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        for (const sim_entry *key = server->databases[db].first; key != NULL;
             key = key->next) {
            if (!sim_value_is_over(key->pointer, now))
                sum += mixed(key->hash + db, sim_value_hash(key->pointer));
        }
    }
    return sum;
}
