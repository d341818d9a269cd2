/* SPDX-License-Identifier: MIT */

#include "differential/data.h"

#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "server/value.h"

static sim_str str_of(const redisReply *reply)
{
    return (sim_str){reply->str, reply->len};
}

static int compare(const void *a, const void *b)
{
    const redisReply *const *left = a, *const *right = b;

    return sim_str_compare(str_of(*left), str_of(*right));
}

/* Also where there is nothing to sort. */
static void sort(redisReply **replies, size_t count, size_t size)
{
    if (count > 1)
        qsort(replies, count, size, compare);
}

static void put_word(sim_buffer *text, const redisReply *reply)
{
    sim_buffer_add(text, sim_str_of(" "));
    sim_quote(text, str_of(reply));
}

static void put_pairs(sim_buffer *text, const redisReply *reply)
{
    sort(reply->element, reply->elements / 2, 2 * sizeof(void *));
    for (size_t i = 0; i < reply->elements; i += 2) {
        put_word(text, reply->element[i]);
        sim_buffer_add(text, sim_str_of("="));
        sim_quote(text, str_of(reply->element[i + 1]));
    }
}

static void put_scores(sim_buffer *text, const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i += 2) {
        sim_buffer_print(text, " %s:", reply->element[i + 1]->str);
        sim_quote(text, str_of(reply->element[i]));
    }
}

static void put_list(sim_buffer *text, const redisReply *reply)
{
    for (size_t i = 0; i < reply->elements; i++)
        put_word(text, reply->element[i]);
}

static void put_set(sim_buffer *text, const redisReply *reply)
{
    sort(reply->element, reply->elements, sizeof(void *));
    put_list(text, reply);
}

static void
put_value(server *s, const redisReply *key, const char *type, sim_buffer *text)
{
    static const struct {
        const char *type, *command;
        void (*put)(sim_buffer *text, const redisReply *reply);
    } types[] = {{"string", "GET %b", put_word},
                 {"hash", "HGETALL %b", put_pairs},
                 {"zset", "ZRANGE %b 0 -1 WITHSCORES", put_scores},
                 {"list", "LRANGE %b 0 -1", put_list},
                 {"set", "SMEMBERS %b", put_set}};

    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        redisReply *reply;

        if (strcmp(type, types[i].type) != 0)
            continue;
        reply = server_command(s, types[i].command, key->str, key->len);
        types[i].put(text, reply);
        freeReplyObject(reply);
    }
}

static void
put_key(server *s, unsigned db, const redisReply *key, sim_buffer *text)
{
    char *type = server_string(s, "TYPE %b", key->str, key->len);
    long long expires = server_integer(s, "PEXPIRETIME %b", key->str, key->len);

    sim_buffer_print(text, "%u ", db);
    sim_quote(text, str_of(key));
    sim_buffer_print(text, " %s %lld", type, expires);
    put_value(s, key, type, text);
    sim_buffer_add(text, sim_str_of("\n"));
    free(type);
}

void data_dump(server *s, sim_buffer *text)
{
    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        redisReply *keys;

        freeReplyObject(server_command(s, "SELECT %u", db));
        keys = server_command(s, "KEYS *");
        sort(keys->element, keys->elements, sizeof(void *));
        for (size_t i = 0; i < keys->elements; i++)
            put_key(s, db, keys->element[i], text);
        freeReplyObject(keys);
    }
    freeReplyObject(server_command(s, "SELECT 0"));
}
