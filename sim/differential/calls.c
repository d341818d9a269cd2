/* SPDX-License-Identifier: MIT */

#include "differential/calls.h"

#include <stdlib.h>
#include <string.h>

#include "differential/layout3.h"
#include "differential/resp.h"
#include "differential/words.h"

enum { NAMES = 3, BATCH = 150 };

struct calls {
    twin *t;
    words w;
    script *scripts;
    unsigned script_count;
    uint64_t base_us; /* the clock without its steps to and fro */
    unsigned step;
    uint64_t each_from;
    bool loaded[512]; /* the server has seen the script, as far as is known */
};

static unsigned chance(calls *c, unsigned limit)
{
    return words_chance(&c->w, limit);
}

/* ---- replies ------------------------------------------------------------ */

/* Long numbers may be fences, which later calls name. */
static void see(void *data, sim_str reply)
{
    calls *c = data;
    size_t count;
    sim_str *elements;

    if (reply.bytes[0] != '*')
        return;
    elements = resp_elements(reply, &count);
    for (size_t i = 0; i < count && i < 4; i++) {
        if (elements[i].size > 14 && elements[i].bytes[0] != '*' &&
            elements[i].bytes[0] != '-')
            words_note(&c->w, resp_string(elements[i]));
    }
    free(elements);
}

calls *calls_new(twin *t, uint64_t seed, uint64_t each_from)
{
    calls *c = sim_alloc(sizeof(*c));

    c->each_from = each_from;
    c->t = t;
    c->w.random = seed;
    c->scripts = scripts_read(&c->script_count);
    c->base_us = twin_now_us(t);
    twin_watch(t, see, c);
    return c;
}

void calls_free(calls *c)
{
    sim_buffer_done(&c->w.text);
    scripts_free(c->scripts, c->script_count);
    free(c);
}

/* ---- scripts ------------------------------------------------------------ */

/* Asks what was put together. */
static void ask_as_it_is(calls *c, unsigned line)
{
    sim_str args[WORDS_MOST];
    int count = words_end(&c->w, args);

    twin_ask(c->t, line, count, args);
}

/* The same; now and then something is missing. */
static void ask(calls *c, unsigned line)
{
    if (chance(c, 300) == 0 && c->w.count > 1)
        c->w.text.size = c->w.offsets[--c->w.count];
    ask_as_it_is(c, line);
}

/* A need of 1e30, which no client has, would be counted through by both. */
static void
add_argument(calls *c, const script *s, const char *called, unsigned name)
{
    if (chance(c, 60) == 0 && strcmp(called, "held") != 0)
        words_hostile(&c->w);
    else if (s->is_layout3)
        layout3_argument(&c->w, called, name);
    else
        words_argument(&c->w, called, name);
}

static void add_key(calls *c, const script *s, unsigned name, const char *role)
{
    const script *other = &c->scripts[chance(c, c->script_count)];

    if (chance(c, 200) == 0 && other->key_count > 0)
        words_key(&c->w, other->family, name,
                  other->keys[chance(c, other->key_count)]);
    else if (s->is_layout3)
        layout3_key(&c->w, s->family, name, role);
    else
        words_key(&c->w, s->family, name, role);
}

/* By its name, or whole if the server may not have it. */
static void add_script(calls *c, const script *s)
{
    bool *loaded = &c->loaded[s->script->index];

    if (*loaded || chance(c, 4) == 0) {
        words_print(&c->w, "EVALSHA");
        words_print(&c->w, "%s", s->script->sha1);
    } else {
        words_print(&c->w, "EVAL");
        words_add(&c->w, (sim_str){s->script->body, s->script->size});
        *loaded = true;
    }
}

static void call_script(calls *c, unsigned line)
{
    const script *s = &c->scripts[chance(c, c->script_count)];
    unsigned name = chance(c, NAMES);
    unsigned rounds = s->is_series ? 1 + chance(c, 3) : 1;
    unsigned args =
        s->args_needed + chance(c, s->arg_count - s->args_needed + 1);

    words_begin(&c->w);
    add_script(c, s);
    words_print(&c->w, "%u", rounds * s->key_count);
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < s->key_count; i++)
            add_key(c, s, (name + r) % NAMES, s->keys[i]);
    }
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned i = 0; i < args; i++)
            add_argument(c, s, s->args[i], name);
    }
    ask(c, line);
}

/* ---- commands ----------------------------------------------------------- */

/*
 * Words as they are, but for: k a key, f a field or an element, m one of
 * layout 3, v a value, i a number, d a score, t a time, n a moment, c a channel, o an option, e one of
 * those that all EXPIRE commands share, p one of LPOS. Those of a script's keys are there as
 * well as some of their own.
 */
static const char *const commands[] = {
    "GET k",
    "SET k v",
    "SET k v PX t",
    "SET k v o",
    "SET k i o t",
    "SET k v EX i o",
    "SET k v KEEPTTL GET",
    "MGET k k k",
    "APPEND k v",
    "STRLEN k",
    "SETNX k v",
    "PSETEX k t v",
    "INCR k",
    "DECR k",
    "INCRBY k i",
    "DECRBY k i",
    "DEL k",
    "DEL k k",
    "UNLINK k",
    "EXISTS k k",
    "TYPE k",
    "TTL k",
    "PTTL k",
    "EXPIRE k i",
    "PEXPIRE k t",
    "PEXPIRE k t e",
    "PEXPIRE k t e",
    "PEXPIREAT k i",
    "PEXPIREAT k n",
    "PEXPIREAT k n e",
    "PERSIST k",
    "RENAME k k",
    "KEYS f",
    "DBSIZE",
    "HSET k f v",
    "HSET k f v f v",
    "HSET k f i",
    "HGET k f",
    "HMGET k f f",
    "HDEL k f",
    "HLEN k",
    "HEXISTS k f",
    "HGETALL k",
    "HKEYS k",
    "HVALS k",
    "HINCRBY k f i",
    "HSETNX k f v",
    "HRANDFIELD k",
    "HRANDFIELD k i",
    "HRANDFIELD k i WITHVALUES",
    "LPUSH k v v",
    "RPUSH k v",
    "LPOP k",
    "RPOP k",
    "LPOP k i",
    "LLEN k",
    "LRANGE k i i",
    "LINDEX k i",
    "LREM k i v",
    "RPUSH k f f f",
    "LPOS k f",
    "LPOS k f p i",
    "LPOS k f p i p i",
    "LINSERT k BEFORE f v",
    "LINSERT k after f f",
    "LPUSHX k v f",
    "HSET k m i",
    "RPUSH k m m",
    "LPOS k m MAXLEN i",
    "LINSERT k AFTER m m",
    "PUBLISH c m",
    "SADD k f f",
    "SREM k f",
    "SMEMBERS k",
    "SCARD k",
    "SISMEMBER k f",
    "ZADD k d f",
    "ZADD k d f d f",
    "ZADD k o d f",
    "ZADD k o o d f",
    "ZINCRBY k d f",
    "ZREM k f",
    "ZSCORE k f",
    "ZMSCORE k f f",
    "ZCARD k",
    "ZCOUNT k d d",
    "ZRANK k f",
    "ZRANGE k i i",
    "ZRANGE k i i WITHSCORES",
    "ZRANGE k d d BYSCORE LIMIT i i",
    "ZRANGE k i i REV",
    "ZRANGEBYSCORE k d d",
    "ZRANGEBYSCORE k -inf +inf WITHSCORES LIMIT i i",
    "ZREVRANGE k i i WITHSCORES",
    "ZREVRANGEBYSCORE k d d",
    "ZREMRANGEBYSCORE k d d",
    "ZREMRANGEBYRANK k i i",
    "PUBLISH c v",
    "PUBSUB NUMSUB c c",
    "SPUBLISH c v",
    "PUBSUB SHARDNUMSUB c c",
    "PUBSUB CHANNELS",
    "PING",
    "ECHO v",
    "TIME",
    "SELECT i",
    "SELECT 0",
    "SELECT 0",
    "SELECT 0",
    "HSCAN k 0",
    "ZSCAN k 0",
    "CLIENT SETNAME f",
    "CLIENT GETNAME",
    "NOSUCH f v",
    "CLIENT NOSUCH",
    "CLIENT",
    "SCRIPT EXISTS f",

    "ACL WHOAMI",
    "FLUSHDB x",
    "LRANGE k 0 -1",
    "EVAL f 0",
    "EVAL return{KEYS[1],ARGV[1]} i k v",
    "EVALSHA f 0",
    "SCRIPT LOAD f",
    "EVAL return(redis.call('SET',KEYS[1],ARGV[1])) 1 k v",
    "EVAL return(redis.pcall('HINCRBY',KEYS[1],ARGV[1],ARGV[2])) 1 k f i",
    "EVAL return(redis.call('PEXPIRE',KEYS[1],ARGV[1])) 1 k t",
    "EVAL return{tonumber(ARGV[1]),tostring(tonumber(ARGV[1]))} 0 d",
    "EVAL return(redis.call('ZADD',KEYS[1],tonumber(ARGV[1]),ARGV[2])) 1 k d f",
    "EVAL return(redis.call(ARGV[1],KEYS[1])) 1 k f",
    "EVAL return(redis.call('SUBSCRIBE',KEYS[1])) 1 c",
    "EVAL error(ARGV[1]) 0 v",
    "EVAL return(nosuch) 0",
    "EVAL return(redis.error_reply(ARGV[1])) 0 v",
    "EVAL return(redis.status_reply(ARGV[1])) 0 f"};

static void add_own_key(calls *c)
{
    const script *s = &c->scripts[chance(c, c->script_count)];

    if (chance(c, 10) != 0)
        words_print(&c->w, "own%u", chance(c, 6));
    else if (s->key_count > 0)
        add_key(c, s, chance(c, NAMES), s->keys[chance(c, s->key_count)]);
    else
        words_print(&c->w, "own");
}

static void add_option(calls *c)
{
    static const char *const options[] = {"NX",   "XX",  "GT", "LT",      "CH",
                                          "INCR", "GET", "PX", "KEEPTTL", "nx"};

    words_add(&c->w, sim_str_of(options[chance(c, 10)]));
}

static void add_expire_option(calls *c)
{
    static const char *const options[] = {"NX", "XX", "GT", "LT"};

    words_add(&c->w, sim_str_of(options[chance(c, 4)]));
}

static void add_place_option(calls *c)
{
    static const char *const options[] = {"RANK", "COUNT", "MAXLEN", "maxlen"};

    words_add(&c->w, sim_str_of(options[chance(c, 4)]));
}

static void add_field(calls *c)
{
    if (chance(c, 5) == 0)
        words_argument(&c->w, "owner", 0);
    else
        words_print(&c->w, "f%u", chance(c, 5));
}

static void add_score(calls *c)
{
    static const char *const scores[] = {"1",    "2",
                                         "1.5",  "-3",
                                         "1e20", "(1",
                                         "-inf", "+inf",
                                         "0.1",  "1700000000000123"};

    words_add(&c->w, sim_str_of(scores[chance(c, 10)]));
}

static void add_by_letter(calls *c, char letter)
{
    if (letter == 'k')
        add_own_key(c);
    else if (letter == 'f')
        add_field(c);
    else if (letter == 'm')
        layout3_argument(&c->w, "stored", 0);
    else if (letter == 'v')
        words_argument(&c->w, "value", 0);
    else if (letter == 'i')
        words_argument(&c->w, "number", 0);
    else if (letter == 'd')
        add_score(c);
    else if (letter == 't')
        words_argument(&c->w, "lease", 0);
    else if (letter == 'c')
        words_argument(&c->w, chance(c, 2) ? "inbox" : "channel",
                       chance(c, NAMES));
    else if (letter == 'o')
        add_option(c);
    else if (letter == 'e')
        add_expire_option(c);
    else if (letter == 'p')
        add_place_option(c);
    else
        words_print(&c->w, "%llu",
                    (unsigned long long)(c->base_us / 1000) + chance(c, 2000) -
                        500);
}

static void call_command(calls *c, unsigned line)
{
    const char *at =
        commands[chance(c, sizeof(commands) / sizeof(commands[0]))];

    words_begin(&c->w);
    while (*at != '\0') {
        size_t size = strcspn(at, " ");

        if (c->w.count > 0 && chance(c, 60) == 0)
            words_hostile(&c->w);
        else if (size == 1 && strchr("kfvidtconepm", *at) != NULL)
            add_by_letter(c, *at);
        else
            words_add(&c->w, (sim_str){at, size});
        at += size + strspn(at + size, " ");
    }
    ask(c, line);
}

/* ---- what happens besides ----------------------------------------------- */

static void move_clock(calls *c)
{
    static const unsigned steps_ms[] = {0, 1, 1, 2, 10, 100, 1000, 5000, 31000};
    uint64_t us = (uint64_t)steps_ms[chance(c, 9)] * 1000 + chance(c, 1000);

    c->base_us += us;
    if (chance(c, 400) == 0)
        c->base_us -= UINT64_C(7200000000); /* two hours back */
    twin_set_clock(c->t, c->base_us + chance(c, 50));
}

/* A line that listens; its subscriptions change. */
static void subscribe(calls *c, unsigned line)
{
    unsigned which = chance(c, 8);

    words_begin(&c->w);
    words_print(&c->w, which < 5 ? "SUBSCRIBE" : "UNSUBSCRIBE");
    if (chance(c, 3) == 0)
        layout3_argument(&c->w, "listened", 0);
    else
        words_argument(&c->w, chance(c, 2) ? "inbox" : "channel",
                       chance(c, NAMES));
    ask_as_it_is(c, line);
    if (which == 5)
        twin_say(c->t, line, "GET own1");
    twin_run(c->t);
}

static void block(calls *c, unsigned line)
{
    sim_str args[WORDS_MOST];

    words_begin(&c->w);
    words_print(&c->w, "BLPOP");
    words_print(&c->w, "own%u", chance(c, 3));
    words_print(&c->w, "own%u", chance(c, 6));
    words_print(&c->w, "0");
    twin_say(c->t, line, "SELECT 0");
    twin_block(c->t, line, words_end(&c->w, args), args);
}

static void set_rights(calls *c)
{
    static const char *const rights[] =
        {"ACL SETUSER u on nopass ~* &* +@all",
         "ACL SETUSER u -publish",
         "ACL SETUSER u -pubsub|numsub -hset",
         "ACL SETUSER u -spublish -pubsub|shardnumsub",
         "ACL SETUSER u resetkeys ~lock:* ~own1",
         "ACL SETUSER u resetchannels &inbox1",
         "ACL SETUSER u -@all +eval +evalsha +@hash +@read +time",
         "ACL SETUSER u -@write",
         "ACL SETUSER u -evalsha",
         "ACL SETUSER u allkeys -pexpire -zadd",
         "ACL SETUSER u -hrandfield -lpos -linsert -lpushx",
         "ACL SETUSER u off",
         "ACL DELUSER nobody",
         "ACL DELUSER default"};

    twin_say(c->t, 0, "ACL SETUSER u on nopass ~* &* +@all");
    twin_say(c->t, 0, rights[chance(c, sizeof(rights) / sizeof(rights[0]))]);
    twin_say(c->t, 0, "ACL SETUSER default ~* &* +@all");
    twin_run(c->t);
    twin_say(c->t, 1, chance(c, 3) == 0 ? "AUTH default x" : "AUTH u x");
    twin_run(c->t);
}

/* Something about the whole server; most of the time it is well. */
static void set_mood(calls *c)
{
    static const char *const moods[] = {"CONFIG SET maxmemory 1",
                                        "CONFIG SET min-replicas-to-write 1",
                                        "REPLICAOF 127.0.0.1 1", "SCRIPT FLUSH",
                                        "FLUSHALL"};
    unsigned mood = chance(c, 5);

    if (mood == 2)
        twin_set_replica(c->t, true);
    else
        twin_say(c->t, 0, moods[mood]);
    if (mood == 3)
        memset(c->loaded, 0, sizeof(c->loaded));
}

static void set_well(calls *c)
{
    twin_set_replica(c->t, false);
    twin_say(c->t, 0, "CONFIG SET maxmemory 0");
    twin_say(c->t, 0, "CONFIG SET min-replicas-to-write 0");
    twin_run(c->t);
}

static void happen(calls *c)
{
    unsigned listener = 2;

    if (chance(c, 6) == 0)
        subscribe(c, listener);
    if (chance(c, 12) == 0 && !twin_is_blocked(c->t, 3))
        block(c, 3);
    else if (chance(c, 12) == 0 && twin_is_blocked(c->t, 3))
        twin_unblock(c->t, 3, chance(c, 2) ? "TIMEOUT" : "ERROR");
    if (chance(c, 10) == 0)
        set_rights(c);
    if (chance(c, 60) == 0)
        twin_remove_user(c->t, "u");
    if (chance(c, 8) == 0)
        set_mood(c);
    else if (chance(c, 3) == 0)
        set_well(c);
    if (chance(c, 200) == 0)
        twin_kill(c->t, 1 + chance(c, 3));
}

void calls_step(calls *c)
{
    unsigned line = chance(c, 4) == 0 ? 1 : 0;

    if (c->step++ % 50 == 0)
        twin_compare_data(c->t);
    move_clock(c);
    happen(c);
    for (unsigned i = 0; i < BATCH && !twin_differs(c->t); i++) {
        if (chance(c, 4) == 0)
            call_command(c, line);
        else
            call_script(c, line);
        if (twin_asked(c->t) >= c->each_from)
            twin_compare_data(c->t);
    }
    twin_run(c->t);
}
