/* SPDX-License-Identifier: MIT */

/*
 * What may happen to a simulated server, and what a real one cannot be asked
 * beside it: restarts, snapshots, refusals, blocks that end by their time, fields
 * by chance. Places in lists are told here as well.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "support/check.h"

enum { SECOND = 1000000 };

typedef struct ear {
    char heard[4096];
    size_t size;
    unsigned ends;
} ear;

typedef struct scene {
    sim_engine *engine;
    sim_server *server;
    uint64_t now;
    ear ears[2];
    sim_session *sessions[2];
} scene;

static uint64_t now(void *data)
{
    const scene *s = data;

    return s->now;
}

static void hear(void *data, const char *bytes, size_t size)
{
    ear *e = data;

    assert_true(e->size + size < sizeof(e->heard));
    memcpy(e->heard + e->size, bytes, size);
    e->size += size;
}

static void hear_end(void *data)
{
    ear *e = data;

    e->ends++;
}

static const sim_ears ears = {hear, hear_end};

static void join(scene *s, unsigned i)
{
    memset(&s->ears[i], 0, sizeof(s->ears[i]));
    s->sessions[i] = sim_session_new(s->server, &ears, &s->ears[i]);
}

static int set_up(void **state)
{
    scene *s = calloc(1, sizeof(*s));

    s->now = UINT64_C(1700000000) * SECOND;
    s->engine = sim_engine_new();
    s->server = sim_server_new(s->engine, 7, now, s);
    join(s, 0);
    join(s, 1);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    scene *s = *state;

    sim_session_free(s->sessions[0]);
    sim_session_free(s->sessions[1]);
    sim_server_free(s->server);
    sim_engine_free(s->engine);
    free(s);
    return 0;
}

/* What the session has heard since it was asked last. */
static const char *heard(scene *s, unsigned i)
{
    s->ears[i].heard[s->ears[i].size] = '\0';
    s->ears[i].size = 0;
    return s->ears[i].heard;
}

/* Words are split at blanks. */
static void ask(scene *s, unsigned i, const char *words)
{
    const char *args[32];
    size_t sizes[32];
    int count = 0;

    for (; *words != '\0'; words += strspn(words, " ")) {
        args[count] = words;
        sizes[count] = strcspn(words, " ");
        words += sizes[count++];
    }
    sim_session_command(s->sessions[i], count, args, sizes);
}

static const char *answer(scene *s, unsigned i, const char *words)
{
    ask(s, i, words);
    return heard(s, i);
}

static void assert_begins(const char *text, const char *with)
{
    if (strncmp(text, with, strlen(with)) != 0)
        fail_msg("\"%s\" does not begin with \"%s\"", text, with);
}

CHECK_TEST_OF(a_restart_with_data, scene *s, set_up, tear_down)
{
    char before[512];

    ask(s, 0, "SET k v");
    snprintf(before, sizeof(before), "%s",
             sim_server_admin(s->server, "INFO server"));
    ask(s, 0, "SCRIPT LOAD return(1)");
    ask(s, 1, "SUBSCRIBE c");
    s->now += UINT64_C(5) * SECOND;
    sim_server_restart(s->server, true);
    assert_int_equal(s->ears[0].ends, 1);
    assert_int_equal(s->ears[1].ends, 1);
    assert_true(sim_session_has_ended(s->sessions[0]));
    assert_string_not_equal(before, sim_server_admin(s->server, "INFO server"));
    assert_non_null(strstr(sim_server_admin(s->server, "INFO server"),
                           "uptime_in_seconds:0\r\n"));
    heard(s, 0);
    assert_string_equal(answer(s, 0, "GET k"), "");
    sim_session_free(s->sessions[0]);
    join(s, 0);
    assert_int_equal(sim_session_id(s->sessions[0]), 1);
    assert_string_equal(answer(s, 0, "GET k"), "$1\r\nv\r\n");
    assert_begins(answer(s, 0,
                         "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"),
                  "-NOSCRIPT");
    assert_string_equal(answer(s, 0, "PUBLISH c x"), ":0\r\n");
}

CHECK_TEST_OF(a_restart_without_data, scene *s, set_up, tear_down)
{
    ask(s, 0, "SET k v");
    sim_server_restart(s->server, false);
    assert_string_equal(sim_server_admin(s->server, "DBSIZE"), ":0\r\n");
}

CHECK_TEST_OF(a_snapshot_in_another_server, scene *s, set_up, tear_down)
{
    sim_server *other = sim_server_new(s->engine, 8, now, s);
    sim_snapshot *snapshot;
    char *older, *copy;

    ask(s, 0, "HSET h f v");
    ask(s, 0, "ZADD z 1 a 0.5 b");
    ask(s, 0, "RPUSH l 1 2");
    ask(s, 0, "SADD s x");
    ask(s, 0, "SET k v PX 1000");
    older = sim_server_dump(s->server);
    snapshot = sim_server_snapshot(s->server);
    ask(s, 0, "DEL h z");
    assert_true(sim_server_hash(s->server) != sim_server_hash(other));
    sim_server_restore(other, snapshot);
    sim_server_restore(s->server, snapshot);
    copy = sim_server_dump(other);
    assert_string_equal(copy, older);
    assert_true(sim_server_hash(s->server) == sim_server_hash(other));
    s->now += UINT64_C(2) * SECOND;
    assert_string_equal(sim_server_admin(other, "EXISTS k"), ":0\r\n");
    assert_true(sim_server_hash(s->server) == sim_server_hash(other));
    free(older);
    free(copy);
    sim_snapshot_free(snapshot);
    sim_server_free(other);
}

CHECK_TEST_OF(refusals, scene *s, set_up, tear_down)
{
    static const struct {
        sim_refusal refusal;
        const char *command, *answer;
    } cases[] = {{SIM_REFUSES_LOADING, "GET k", "-LOADING "},
                 {SIM_REFUSES_LOADING, "PING", "-LOADING "},
                 {SIM_REFUSES_LOADING, "CLIENT ID", ":"},
                 {SIM_REFUSES_BUSY, "GET k", "-BUSY "},
                 {SIM_REFUSES_BUSY, "EVAL return(1) 0", "-BUSY "},
                 {SIM_REFUSES_MISCONF, "SET k v", "-MISCONF "},
                 {SIM_REFUSES_MISCONF, "PING", "-MISCONF "},
                 {SIM_REFUSES_MISCONF, "GET k", "$-1"},
                 {SIM_REFUSES_MISCONF, "EVAL return(redis.call('DEL','k')) 0",
                  "-MISCONF "},
                 {SIM_REFUSES_NOREPLICAS, "DEL k", "-NOREPLICAS "},
                 {SIM_REFUSES_NOREPLICAS, "GET k", "$-1"},
                 {SIM_REFUSES_MASTERDOWN, "GET k", "-MASTERDOWN "},
                 {SIM_REFUSES_CLUSTERDOWN, "EVAL return(1) 1 k",
                  "-CLUSTERDOWN "},
                 {SIM_REFUSES_NOTHING, "PING", "+PONG"}};

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sim_server_refuse(s->server, cases[i].refusal);
        assert_begins(answer(s, 0, cases[i].command), cases[i].answer);
    }
    sim_server_refuse(s->server, SIM_REFUSES_CLIENTS);
    sim_session_free(s->sessions[1]);
    join(s, 1);
    assert_begins(heard(s, 1), "-ERR max number of clients reached");
    assert_int_equal(s->ears[1].ends, 1);
}

CHECK_TEST_OF(a_pop_that_ends_by_its_time, scene *s, set_up, tear_down)
{
    assert_true(sim_server_due(s->server) == UINT64_MAX);
    assert_string_equal(answer(s, 0, "BLPOP l 10"), "");
    ask(s, 0, "PING");
    assert_true(sim_server_due(s->server) == s->now + UINT64_C(10) * SECOND);
    s->now += 10 * SECOND - 1000;
    sim_server_tick(s->server);
    assert_string_equal(heard(s, 0), "");
    s->now += 1000;
    sim_server_tick(s->server);
    assert_string_equal(heard(s, 0), "*-1\r\n+PONG\r\n");
    assert_true(sim_server_due(s->server) == UINT64_MAX);
}

CHECK_TEST_OF(who_waits_longest_is_served, scene *s, set_up, tear_down)
{
    ask(s, 1, "BLPOP l 0");
    ask(s, 0, "BLPOP l 0");
    sim_server_admin(s->server, "RPUSH l a b");
    assert_string_equal(heard(s, 1), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
    assert_string_equal(heard(s, 0), "*2\r\n$1\r\nl\r\n$1\r\nb\r\n");
    assert_string_equal(sim_server_admin(s->server, "EXISTS l"), ":0\r\n");
}

CHECK_TEST_OF(a_wait_for_followers, scene *s, set_up, tear_down)
{
    sim_server_set_followers(s->server, 1);
    assert_string_equal(answer(s, 0, "WAIT 1 500"), ":1\r\n");
    assert_string_equal(answer(s, 0, "WAIT 2 500"), "");
    s->now += SECOND / 2;
    sim_server_tick(s->server);
    assert_string_equal(heard(s, 0), ":1\r\n");
}

CHECK_TEST_OF(a_server_that_becomes_a_replica, scene *s, set_up, tear_down)
{
    ask(s, 0, "SET k v PX 1000");
    ask(s, 1, "BLPOP l 0");
    sim_server_set_replica(s->server, true);
    assert_begins(heard(s, 1), "-UNBLOCKED ");
    assert_int_equal(s->ears[1].ends, 1);
    heard(s, 0);
    assert_begins(answer(s, 0, "DEL k"), "-READONLY ");
    assert_begins(answer(s, 0, "ROLE"), "*5\r\n$5\r\nslave");
    s->now += UINT64_C(2) * SECOND;
    assert_string_equal(answer(s, 0, "GET k"), "$-1\r\n");
    assert_string_equal(answer(s, 0, "DBSIZE"), ":1\r\n");
    sim_server_set_replica(s->server, false);
    assert_string_equal(answer(s, 0, "DEL k"), ":0\r\n");
    assert_string_equal(answer(s, 0, "DBSIZE"), ":0\r\n");
}

CHECK_TEST_OF(passwords, scene *s, set_up, tear_down)
{
    sim_server_admin(s->server, "ACL SETUSER default resetpass >secret");
    sim_session_free(s->sessions[1]);
    join(s, 1);
    assert_begins(answer(s, 1, "GET k"), "-NOAUTH ");
    assert_begins(answer(s, 1, "AUTH wrong"), "-WRONGPASS ");
    assert_string_equal(answer(s, 1, "AUTH secret"), "+OK\r\n");
    assert_string_equal(answer(s, 1, "GET k"), "$-1\r\n");
    sim_server_admin(s->server, "ACL SETUSER u on >pass ~a* +get");
    assert_string_equal(answer(s, 1, "AUTH u pass"), "+OK\r\n");
    assert_begins(answer(s, 1, "GET k"), "-NOPERM ");
    assert_string_equal(answer(s, 1, "GET a"), "$-1\r\n");
    sim_server_admin(s->server, "ACL DELUSER u");
    assert_int_equal(s->ears[1].ends, 1);
}

/* All that is there from the begin to the end of a scan is found by it. */
CHECK_TEST_OF(a_scan_of_a_growing_table, scene *s, set_up, tear_down)
{
    enum { FIRST = 500, MORE = 3000 };
    static bool found[FIRST];
    unsigned long long cursor = 0;
    char command[64];
    int added = 0;

    memset(found, 0, sizeof(found));
    for (; added < FIRST; added++) {
        snprintf(command, sizeof(command), "SET key%d v", added);
        answer(s, 0, command);
    }
    do {
        const char *reply;

        snprintf(command, sizeof(command), "SCAN %llu COUNT 20", cursor);
        reply = answer(s, 0, command);
        reply = strstr(strchr(reply, '$'), "\r\n");
        assert_non_null(reply);
        cursor = strtoull(reply, NULL, 10);
        while ((reply = strstr(reply, "key")) != NULL) {
            long number = strtol(reply += 3, NULL, 10);

            if (number < FIRST)
                found[number] = true;
        }
        for (int end = added + 40; added < end && added < MORE; added++) {
            snprintf(command, sizeof(command), "SET key%d v", added);
            answer(s, 0, command);
        }
    } while (cursor != 0);
    for (int i = 0; i < FIRST; i++)
        assert_true(found[i]);
}

static void count_key(void *data, const sim_key *key)
{
    unsigned *count = data;

    assert_int_equal(key->db, 3);
    assert_int_equal(key->ttl_ms, 1000);
    assert_string_equal(key->type, "string");
    assert_memory_equal(key->name, "k", key->size);
    ++*count;
}

CHECK_TEST_OF(keys_are_told, scene *s, set_up, tear_down)
{
    unsigned count = 0;

    ask(s, 0, "SELECT 3");
    ask(s, 0, "SET k v PX 1000");
    sim_server_each_key(s->server, count_key, &count);
    assert_int_equal(count, 1);
    s->now += UINT64_C(2) * SECOND;
    sim_server_each_key(s->server, count_key, &count);
    assert_int_equal(count, 1);
    assert_true(sim_server_evict(s->server, 3, "k", 1));
    assert_false(sim_server_evict(s->server, 3, "k", 1));
}

typedef struct told {
    const char *command, *answer;
} told;

static void assert_told(scene *s, const told *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(answer(s, 0, cases[i].command), cases[i].answer);
}

CHECK_TEST_OF(places_in_a_list, scene *s, set_up, tear_down)
{
    static const told cases[] = {
        {"RPUSH l a b c a b a", ":6\r\n"},
        {"LPOS l b", ":1\r\n"},
        {"LPOS l x", "$-1\r\n"},
        {"LPOS l b MAXLEN 1", "$-1\r\n"},
        {"LPOS l b MAXLEN 2", ":1\r\n"},
        {"lpos l b maxlen 0", ":1\r\n"},
        {"LPOS l a RANK 2", ":3\r\n"},
        {"LPOS l a RANK -2", ":3\r\n"},
        {"LPOS l b RANK -1 MAXLEN 1", "$-1\r\n"},
        {"LPOS l a COUNT 0", "*3\r\n:0\r\n:3\r\n:5\r\n"},
        {"LPOS l a COUNT 2 RANK -1", "*2\r\n:5\r\n:3\r\n"},
        {"LPOS l a COUNT 5 MAXLEN 4", "*2\r\n:0\r\n:3\r\n"},
        {"LPOS l x COUNT 1", "*0\r\n"},
        {"LPOS no a", "$-1\r\n"},
        {"LPOS no a COUNT 1", "*0\r\n"},
        {"LPOS l a MAXLEN", "-ERR syntax error\r\n"},
        {"LPOS l a FIRST 1", "-ERR syntax error\r\n"},
        {"LPOS l a MAXLEN -1", "-ERR MAXLEN can't be negative\r\n"},
        {"LPOS l a COUNT x", "-ERR COUNT can't be negative\r\n"},
        {"LPOS l a RANK x", "-ERR value is not an integer or out of range\r\n"},
        {"LPOS l a RANK 0",
         "-ERR RANK can't be zero: use 1 to start from the first match, 2 "
         "from the second ... or use negative to start from the end of the "
         "list\r\n"}};

    assert_told(s, cases, sizeof(cases) / sizeof(cases[0]));
}

CHECK_TEST_OF(elements_beside_others, scene *s, set_up, tear_down)
{
    static const told cases[] =
        {{"LPUSHX l a", ":0\r\n"},
         {"LINSERT l AFTER a b", ":0\r\n"},
         {"RPUSH l b", ":1\r\n"},
         {"LPUSHX l a x", ":3\r\n"},
         {"LINSERT l before b 1", ":4\r\n"},
         {"LINSERT l AFTER b 2", ":5\r\n"},
         {"LINSERT l BEFORE x 0", ":6\r\n"},
         {"LINSERT l AFTER no 3", ":-1\r\n"},
         {"LINSERT l BESIDE b 3", "-ERR syntax error\r\n"},
         {"LRANGE l 0 -1", "*6\r\n$1\r\n0\r\n$1\r\nx\r\n$1\r\na\r\n$1\r\n1\r\n"
                           "$1\r\nb\r\n$1\r\n2\r\n"},
         {"LPOP l 2", "*2\r\n$1\r\n0\r\n$1\r\nx\r\n"}};

    assert_told(s, cases, sizeof(cases) / sizeof(cases[0]));
}

/* In which of three fields by chance, in so many draws, each came up. */
static unsigned fields_drawn(scene *s, unsigned draws)
{
    unsigned seen = 0;

    for (unsigned i = 0; i < draws; i++) {
        const char *reply = answer(s, 0, "HRANDFIELD h");

        assert_begins(reply, "$1\r\n");
        assert_in_range(reply[4], 'a', 'c');
        seen |= 1U << (unsigned)(reply[4] - 'a');
    }
    return seen;
}

CHECK_TEST_OF(fields_by_chance, scene *s, set_up, tear_down)
{
    static const told cases[] =
        {{"HRANDFIELD h", "$-1\r\n"},
         {"HRANDFIELD h 2", "*0\r\n"},
         {"HSET h a 1 b 2 c 3", ":3\r\n"},
         {"HRANDFIELD h 3", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"},
         {"HRANDFIELD h 9 withvalues",
          "*6\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\nc\r\n"
          "$1\r\n3\r\n"},
         {"HRANDFIELD h x", "-ERR value is not an integer or out of range\r\n"},
         {"HRANDFIELD h 9223372036854775807 WITHVALUES",
          "-ERR value is out of range\r\n"},
         {"HRANDFIELD h -9223372036854775808",
          "-ERR value is out of range, value must between "
          "-9223372036854775807 and 9223372036854775807\r\n"},
         {"SET k v", "+OK\r\n"},
         {"HRANDFIELD k",
          "-WRONGTYPE Operation against a key holding the wrong kind of "
          "value\r\n"}};

    assert_told(s, cases, sizeof(cases) / sizeof(cases[0]));
    assert_int_equal(fields_drawn(s, 100), 7);
    assert_begins(answer(s, 0, "HRANDFIELD h -5"), "*5\r\n");
    for (unsigned i = 0; i < 50; i++) {
        const char *reply = answer(s, 0, "HRANDFIELD h 2 WITHVALUES");

        assert_begins(reply, "*4\r\n$1\r\n");
        assert_true(reply[22] != reply[8]);
        assert_int_equal(reply[15] - '1', reply[8] - 'a');
        assert_int_equal(reply[29] - '1', reply[22] - 'a');
    }
}

/* In their order. */
CHECK_TEST_OF(a_few_of_many_fields_by_chance, scene *s, set_up, tear_down)
{
    unsigned seen = 0;

    ask(s, 0, "HSET h a 1 b 2 c 3 d 4 e 5 f 6 g 7");
    heard(s, 0);
    for (unsigned i = 0; i < 100; i++) {
        const char *reply = answer(s, 0, "HRANDFIELD h 2");

        assert_begins(reply, "*2\r\n$1\r\n");
        assert_in_range(reply[15], reply[8] + 1, 'g');
        seen |= 1U << (reply[8] - 'a') | 1U << (reply[15] - 'a');
    }
    assert_int_equal(seen, 127);
}

/* The seed decides about them. */
CHECK_TEST_OF(the_same_fields_by_chance, scene *s, set_up, tear_down)
{
    sim_server *one = sim_server_new(s->engine, 8, now, s);
    sim_server *other = sim_server_new(s->engine, 8, now, s);
    char drawn[256];

    sim_server_admin(one, "HSET h a 1 b 2 c 3 d 4 e 5");
    sim_server_admin(other, "HSET h a 1 b 2 c 3 d 4 e 5");
    for (unsigned i = 0; i < 20; i++) {
        snprintf(drawn, sizeof(drawn), "%s",
                 sim_server_admin(one, "HRANDFIELD h -3"));
        assert_string_equal(sim_server_admin(other, "HRANDFIELD h -3"), drawn);
    }
    sim_server_free(one);
    sim_server_free(other);
}

int main(void)
{
    return check_all(NULL, NULL);
}
