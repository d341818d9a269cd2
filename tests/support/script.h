/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SCRIPT_H
#define LK_TESTS_SUPPORT_SCRIPT_H

#include <hiredis/hiredis.h>

#include "base/script.h"
#include "support/server.h"

/*
 * Runs the scripts alone, against a server, the way a client would: for one
 * name, with the keys of a primitive, the lock's if nothing else is said. What
 * comes back is turned into text, so that a test can say what it expects
 * in one line:
 *
 *   integers in decimal, strings as they are, "" for the empty one, nil,
 *   arrays in parentheses but for the outermost, errors behind a '!', and a
 *   right that is missing behind "!DENIED ".
 *
 * With LK_TEST_CLUSTER in the environment the server is a node of a cluster, and
 * has the slots of the names that the test works on, no other: what touches
 * another key fails.
 *
 * A text that is returned lives until the next call of the same function.
 * Whatever cannot be done fails the running test.
 */

enum { SCRIPT_KEYS = 12 }; /* at most */

/*
 * How a primitive names its keys: "" is the name n itself, "a:b" is `a:b:{n}`,
 * ":cc" is `{n}:cc`, ":c" is `latchkey:{n}:c`, "d{}" is `d{n}` whatever n is,
 * "e*" is `en`. claim_key, if there is one, stands for a last key for the claim
 * that a script is about: ":cc" is `{n}:<claim>:cc`.
 */
typedef struct script_layout {
    size_t count;
    const char *keys[SCRIPT_KEYS];
    const char *channel;
} script_layout;

typedef struct script_fixture {
    server *server;        /* one for the program, empty for each test */
    redisContext *runner;  /* scripts run over it, as the restricted user */
    redisContext *plain;   /* what the test itself asks */
    redisContext *inboxes; /* NULL: nobody listens */
    const char *interop;   /* "0"; a test may set "1" */
    const script_layout *layout;
    char *keys[SCRIPT_KEYS];
    char *name;
    char *channel;      /* Redisson's */
    char stamp[480];    /* Lua that goes before each script; see script_at() */
    redisReply *answer; /* of the last script */
    char *answer_text;
    char *redis_text;
    char *heard_text;
} script_fixture;

/* The lock's own key. */
enum { KEY_LOCK };

/* For cmocka: one server per program, one fixture per test, for the name n. */
int script_start_server(void **state);
int script_stop_server(void **state);
/* Whether the server, which has been started, knows sharded channels. */
bool script_server_shards(void);
int script_setup(void **state);
int script_teardown(void **state);

/* Works on another name, or with another primitive's keys, from now on. */
void script_set_name(script_fixture *f, const char *name);
void script_set_layout(script_fixture *f, const script_layout *layout);

/* Runs a script with these keys. args is ended by NULL. */
const char *script_run_keys(script_fixture *f, const lk__script *script,
                            const char *const *keys, size_t key_count,
                            const char *const *args);
/* An integer of the last answer, counted from 0. */
long long script_item(const script_fixture *f, size_t index);

/* Any command, as a user without restrictions. Formats are hiredis's. */
const char *script_redis(script_fixture *f, const char *format, ...);
/* The same, and the integer that it answers with. */
long long script_number(script_fixture *f, const char *format, ...);
/* The milliseconds that a key, or the layout's key of this index, has left. */
long long script_pttl(script_fixture *f, const char *key);
long long script_key_pttl(script_fixture *f, int key);
/* How many commands the scripts called since CONFIG RESETSTAT. */
long long script_commands_called(script_fixture *f);
/* Milliseconds of the server's clock. */
long long script_now_ms(script_fixture *f);

/* Subscribes to one more channel, a sharded one if a + stands before it. */
void script_listen(script_fixture *f, const char *channel);
void script_deafen(script_fixture *f, const char *channel);
/* What was heard since the last call: a line `<channel> <message>` each. */
const char *script_heard(script_fixture *f);

/* Scripts run without the right to this command; NULL: with all rights. */
void script_deny(script_fixture *f, const char *command);
/* With all rights and no data, as at the beginning. */
void script_start_over(script_fixture *f);
/* Whether the server says that its memory is used up. */
void script_fill_memory(script_fixture *f, bool is_full);

/* Each script from now on runs so many ms after the beginning of a second. */
void script_at(script_fixture *f, long long ms);
/* Has the slot of the name begin to move away: scripts run for keys that are all
   there, and a key that is gone cannot be made. False: the server is no node of a
   cluster. */
bool script_move(script_fixture *f);
void script_stop_moving(script_fixture *f);
/* Has the lock end as if its lease had run out. */
void script_expire(script_fixture *f);

/* Fails the test unless text matches pattern: `*` and `?` as in fnmatch(3). */
void script_assert_like(const char *text, const char *pattern, const char *file,
                        int line);

/* A macro for the sake of the caller's file and line. */
#define assert_like(text, pattern)                                             \
    script_assert_like((text), (pattern), __FILE__, __LINE__)

#define SCRIPT_TEST(name)                                                      \
    CHECK_TEST_OF(name, script_fixture *f, script_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_SCRIPT_H */
