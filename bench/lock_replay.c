/* SPDX-License-Identifier: MIT */

/*
 * A fairer limit than SET and a short script: a blocking hiredis client that
 * sends the very calls of scripts that a lock sends. The server shows them, by
 * MONITOR; a pair is told from the one before by its claim's number and by its
 * fence. The client renews nothing, and nobody tells it that its turn has come.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock_rows.h"
#include "measure.h"
#include "server.h"

enum { ARGS_MOST = 24, TEXT_SIZE = 256, SAME_PAIRS = 100 };

struct call {
    int count;
    const char *args[ARGS_MOST];
    char texts[ARGS_MOST][TEXT_SIZE];
    int claim; /* the argument that is the claim's id */
};

struct replay {
    redisContext *redis;
    struct call acquire, release;
    int own; /* of acquire, the argument that begins with the id */
    uint64_t number;
    char claim[TEXT_SIZE], record[2 * TEXT_SIZE], fence[32];
};

/* ---- what a lock sends ------------------------------------------------------- */

/* One byte of what stands between quotes; at moves on. */
static char byte_read(const char **at)
{
    char byte = *(*at)++, code[3] = "";

    if (byte != '\\')
        return byte;
    byte = *(*at)++;
    if (byte == 'n' || byte == 'r' || byte == 't')
        return byte == 'n' ? '\n' : byte == 'r' ? '\r' : '\t';
    if (byte != 'x' || strnlen(*at, 2) < 2)
        return byte;
    memcpy(code, *at, 2);
    *at += 2;
    return (char)strtoul(code, NULL, 16);
}

/* `1795816682.58 [0 unix:s] "EVALSHA" "16c1..." ...`. A script's source is cut. */
static void call_read(struct call *call, const char *line)
{
    call->count = 0;
    while ((line = strchr(line, '"')) != NULL && call->count < ARGS_MOST) {
        char *text = call->texts[call->count];
        size_t size = 0;

        for (line++; *line != '"' && *line != '\0';) {
            const char byte = byte_read(&line);

            if (size < TEXT_SIZE - 1)
                text[size++] = byte;
        }
        text[size] = '\0';
        if (*line++ != '"')
            errx(1, "a call is not understood");
        call->args[call->count++] = text;
    }
}

/* The next call of a script that the server is asked. True: by hash, and by that
   of the call before. */
static bool call_watch(struct call *call, redisContext *monitor)
{
    char before[TEXT_SIZE];
    redisReply *reply;

    (void)snprintf(before, sizeof(before), "%s", call->texts[1]);
    do {
        if (redisGetReply(monitor, (void **)&reply) != REDIS_OK)
            errx(1, "the server shows nothing");
        call_read(call, reply->str);
        freeReplyObject(reply);
    } while (call->count < 4 || strncmp(call->args[0], "EVAL", 4) != 0);
    return strcmp(call->args[0], "EVALSHA") == 0 &&
           strcmp(call->texts[1], before) == 0;
}

/* The first argument, from one on, that begins with the text. */
static int arg_find(const struct call *call, int from, const char *text)
{
    for (int i = from; i < call->count; i++) {
        if (strncmp(call->args[i], text, strlen(text)) == 0)
            return i;
    }
    errx(1, "a call has no argument %s", text);
}

static bool
pair_watch(struct replay *replay, lk_lock *lock, redisContext *monitor)
{
    bool same;

    lock_give(lock_take(lock));
    same = call_watch(&replay->acquire, monitor);
    return call_watch(&replay->release, monitor) && same;
}

/* Shows a pair. False: the pairs behind it were others, or there was a call besides,
   and what was taken for a pair may be none. */
static bool pair_show(struct replay *replay, lk_lock *lock)
{
    redisContext *monitor = server_connect();
    bool same = true;

    server_do(monitor, "MONITOR");
    (void)pair_watch(replay, lock, monitor);
    for (int i = 0; i < SAME_PAIRS && same; i++)
        same = pair_watch(replay, lock, monitor);
    redisFree(monitor);
    return same;
}

static void replay_learn(struct replay *replay, lk_lock *lock)
{
    struct call *acquire = &replay->acquire, *release = &replay->release;
    char *number;

    /* A client that has not subscribed yet acquires by another script, and what the
       server does not know is sent as its source. */
    while (!pair_show(replay, lock))
        ;
    acquire->claim = 3 + (int)strtol(acquire->args[2], NULL, 10);
    (void)snprintf(replay->claim, sizeof(replay->claim), "%s",
                   acquire->args[acquire->claim]);
    replay->own = arg_find(acquire, acquire->claim + 1, replay->claim);
    release->claim = arg_find(release, 3, replay->claim);
    number = strrchr(replay->claim, ':');
    if (number == NULL || release->claim + 1 == release->count)
        errx(1, "no claim is told");
    number[1] = '\0';
}

/* ---- the same again ------------------------------------------------------------ */

static void *replay_open(void *all, unsigned index)
{
    struct replay *replay = memory_new(1, sizeof(*replay));
    char name[32];
    lk_lock *lock;

    (void)snprintf(name, sizeof(name), "orders:%u", index);
    lock = lock_open(all, name);
    replay_learn(replay, lock);
    lk_lock_free(lock);
    replay->redis = server_connect();
    replay->number = 1000000; /* the client's own are far below */
    return replay;
}

/* The second number of the answer: of acquire, the fence. */
static long long call_do(redisContext *redis, struct call *call)
{
    redisReply *reply = redisCommandArgv(redis, call->count, call->args, NULL);
    long long second;

    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
        reply->elements < 2 || reply->element[0]->integer != 1)
        errx(1, "a script answers something else");
    second = reply->element[1]->integer;
    freeReplyObject(reply);
    return second;
}

static void replay_pair(void *mine)
{
    struct replay *replay = mine;
    struct call *acquire = &replay->acquire, *release = &replay->release;
    char claim[TEXT_SIZE + 24];

    (void)snprintf(claim, sizeof(claim), "%s%" PRIu64, replay->claim,
                   ++replay->number);
    (void)snprintf(replay->record, sizeof(replay->record), "%s%s", claim,
                   strchr(acquire->texts[replay->own], ' '));
    acquire->args[acquire->claim] = release->args[release->claim] = claim;
    acquire->args[replay->own] = replay->record;
    (void)snprintf(replay->fence, sizeof(replay->fence), "%lld",
                   call_do(replay->redis, acquire));
    release->args[release->claim + 1] = replay->fence;
    (void)call_do(replay->redis, release);
}

static void *client_for_all(void)
{
    return client_open(0);
}

const rate_case rate_one_replay = {.threads = 1,
                                   .open = client_for_all,
                                   .thread_open = replay_open,
                                   .pair = replay_pair};

const rate_case rate_many_replay = {.threads = 64,
                                    .open = client_for_all,
                                    .thread_open = replay_open,
                                    .pair = replay_pair};
