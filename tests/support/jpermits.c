/* SPDX-License-Identifier: MIT */
#include "support/jpermits.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/wait.h"

#define CHANNEL "redisson_sc:{n}"
#define KEYS    "n", "{n}:timeout"
#define ENDLESS "922337203685477"

enum { ID_SIZE = 16, MOST_ARGS = 16 };

/* KEYS: n, the zset. ARGV: the clock, and what the step needs. */

/* Takes back what has ended, ARGV[2] permits at most. */
#define SWEEP(limit)                                                           \
    "local over = redis.call('zrangebyscore', KEYS[2], 0, ARGV[1]," limit ") " \
    "local swept = false "                                                     \
    "if #over > 0 then "                                                       \
    "redis.call('zrem', KEYS[2], unpack(over)) "                               \
    "swept = redis.call('incrby', KEYS[1], #over) "                            \
    "if swept > 0 then redis.call('publish', '" CHANNEL "', swept) end end "

#define SWEEP_ALL SWEEP("'limit', 0, -1")

/* ARGV[2] count, [3] score, [4..] ids. */
static const char acquire_script[] =
    SWEEP("'limit', 0, ARGV[2]") "local free = redis.call('get', KEYS[1]) "
                                 "if free and tonumber(free) >= "
                                 "tonumber(ARGV[2]) then "
                                 "redis.call('decrby', KEYS[1], ARGV[2]) "
                                 "for i = 4, #ARGV do redis.call('zadd', "
                                 "KEYS[2], ARGV[3], ARGV[i]) end "
                                 "local ttl = redis.call('pttl', KEYS[1]) "
                                 "if ttl > 0 then redis.call('pexpire', "
                                 "KEYS[2], ttl) end "
                                 "return 'OK' end "
                                 "local first = redis.call('zrange', KEYS[2], "
                                 "0, 0, 'withscores') "
                                 "if #first > 0 and first[2] ~= '" ENDLESS
                                 "' then "
                                 "return ':' .. first[2] end return nil";

/* ARGV[2] id. */
static const char release_script[] =
    "local score = redis.call('zscore', KEYS[2], ARGV[2]) "
    "if redis.call('zrem', KEYS[2], ARGV[2]) == 0 then return 0 end "
    "local free = redis.call('incrby', KEYS[1], 1) "
    "redis.call('publish', '" CHANNEL "', free) "
    "if tonumber(score) <= tonumber(ARGV[1]) then return 0 end return 1";

/* ARGV[2..] ids. */
static const char release_all_script[] =
    "for i = 2, #ARGV do "
    "local score = redis.call('zscore', KEYS[2], ARGV[i]) "
    "if not score or tonumber(score) <= tonumber(ARGV[1]) then return 0 end "
    "end " SWEEP_ALL "local gone = 0 "
    "for i = 2, #ARGV do gone = gone + redis.call('zrem', KEYS[2], ARGV[i]) "
    "end redis.call('incrby', KEYS[1], gone) "
    "redis.call('publish', '" CHANNEL "', gone) return gone";

static const char try_set_script[] =
    "if redis.call('exists', KEYS[1]) == 1 then return 0 end "
    "redis.call('set', KEYS[1], ARGV[2]) "
    "redis.call('publish', '" CHANNEL "', ARGV[2]) return 1";

static const char set_script[] =
    "local free = redis.call('get', KEYS[1]) "
    "if not free then redis.call('set', KEYS[1], ARGV[2]) "
    "redis.call('publish', '" CHANNEL "', ARGV[2]) return 1 end "
    "local most = redis.call('zcount', KEYS[2], 0, '+inf') + free "
    "if most == tonumber(ARGV[2]) then return 0 end "
    "redis.call('incrby', KEYS[1], ARGV[2] - most) "
    "redis.call('publish', '" CHANNEL "', ARGV[2]) return 1";

static const char add_script[] =
    "local free = redis.call('get', KEYS[1]) or 0 "
    "redis.call('set', KEYS[1], free + ARGV[2]) "
    "if tonumber(ARGV[2]) > 0 then "
    "redis.call('publish', '" CHANNEL "', ARGV[2]) end return 1";

static const char available_script[] =
    SWEEP_ALL "return swept or tonumber(redis.call('get', KEYS[1]) or 0)";

static const char acquired_script[] =
    SWEEP_ALL "return redis.call('zcount', KEYS[2], 0, '+inf')";

static const char total_script[] =
    SWEEP_ALL "local free = redis.call('get', KEYS[1]) "
              "if not free then return 0 end "
              "return free + redis.call('zcount', KEYS[2], 0, '+inf')";

/* ARGV[2] id, [3] score. */
static const char update_script[] =
    SWEEP_ALL "if not redis.call('zscore', KEYS[2], ARGV[2]) then return 0 end "
              "redis.call('zadd', KEYS[2], ARGV[3], ARGV[2]) return 1";

static const char lease_script[] =
    SWEEP_ALL "local score = redis.call('zscore', KEYS[2], ARGV[2]) "
              "if not score then return -2 end "
              "if score == '" ENDLESS "' then return -1 end "
              "return score - ARGV[1]";

struct jpermits {
    redisContext *commands, *messages;
    long long skew_ms;
};

static void need(bool truth, const char *what)
{
    if (truth)
        return;
    (void)fprintf(stderr, "the stand-in cannot: %s\n", what);
    abort();
}

/* ---- life ---------------------------------------------------------------- */

jpermits *jpermits_new(const server *s)
{
    jpermits *j = calloc(1, sizeof(*j));

    need(j != NULL, "memory");
    j->commands = redisConnectUnix(server_socket(s));
    j->messages = redisConnectUnix(server_socket(s));
    need(j->commands->err == 0 && j->messages->err == 0, "connect");
    return j;
}

void jpermits_free(jpermits *j)
{
    if (j == NULL)
        return;
    redisFree(j->commands);
    redisFree(j->messages);
    free(j);
}

void jpermits_set_skew(jpermits *j, long long ms)
{
    j->skew_ms = ms;
}

static long long now_ms(const jpermits *j)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000 + j->skew_ms;
}

static void
score_write(const jpermits *j, long long lease_ms, char *score, size_t size)
{
    if (lease_ms == JPERMITS_FOREVER)
        (void)snprintf(score, size, ENDLESS);
    else
        (void)snprintf(score, size, "%lld", now_ms(j) + lease_ms);
}

/* ---- ids ----------------------------------------------------------------- */

/* Unlike every other, also those of other processes. */
static void id_make(char id[ID_SIZE])
{
    static atomic_ullong last;
    unsigned long long number = atomic_fetch_add(&last, 1);
    pid_t process = getpid();

    (void)memset(id, 0xa5, ID_SIZE);
    (void)memcpy(id, &number, sizeof(number));
    (void)memcpy(id + sizeof(number), &process, sizeof(process));
}

static void id_show(const char id[ID_SIZE], char hex[33])
{
    for (size_t i = 0; i < ID_SIZE; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id[i]);
}

static void id_read(const char *hex, char id[ID_SIZE])
{
    need(strlen(hex) == (size_t)2 * ID_SIZE, hex);
    for (size_t i = 0; i < ID_SIZE; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        id[i] = (char)strtol(pair, NULL, 16);
    }
}

/* ---- steps --------------------------------------------------------------- */

/* An argument of a script: its bytes. */
typedef struct bytes {
    const char *at;
    size_t size;
} bytes;

static bytes text(const char *string)
{
    return (bytes){string, strlen(string)};
}

/* The clock goes before the step's own arguments. */
static redisReply *
step(jpermits *j, const char *script, const bytes *args, size_t count)
{
    const char *argv[MOST_ARGS] = {"EVAL", script, "2", KEYS};
    size_t sizes[MOST_ARGS];
    char now[24];
    size_t n = 5;
    redisReply *reply;

    (void)snprintf(now, sizeof(now), "%lld", now_ms(j));
    for (size_t i = 0; i < n; i++)
        sizes[i] = strlen(argv[i]);
    argv[n] = now;
    sizes[n++] = strlen(now);
    for (size_t i = 0; i < count; i++) {
        need(n < MOST_ARGS, "so many arguments");
        argv[n] = args[i].at;
        sizes[n++] = args[i].size;
    }
    reply = redisCommandArgv(j->commands, (int)n, argv, sizes);
    need(reply != NULL && reply->type != REDIS_REPLY_ERROR,
         reply != NULL ? reply->str : "a step");
    return reply;
}

static long long
step_number(jpermits *j, const char *script, const bytes *args, size_t count)
{
    redisReply *reply = step(j, script, args, count);
    long long number = reply->integer;

    need(reply->type == REDIS_REPLY_INTEGER, "an integer");
    freeReplyObject(reply);
    return number;
}

static long long step_about(jpermits *j, const char *script, int number)
{
    char digits[16];
    bytes arg;

    (void)snprintf(digits, sizeof(digits), "%d", number);
    arg = text(digits);
    return step_number(j, script, &arg, 1);
}

bool jpermits_try_set(jpermits *j, int permits)
{
    return step_about(j, try_set_script, permits) == 1;
}

void jpermits_set(jpermits *j, int permits)
{
    (void)step_about(j, set_script, permits);
}

void jpermits_add(jpermits *j, int permits)
{
    (void)step_about(j, add_script, permits);
}

long long jpermits_available(jpermits *j)
{
    return step_number(j, available_script, NULL, 0);
}

long long jpermits_acquired(jpermits *j)
{
    return step_number(j, acquired_script, NULL, 0);
}

long long jpermits_total(jpermits *j)
{
    return step_number(j, total_script, NULL, 0);
}

/* ---- acquire --------------------------------------------------------------- */

/* One try; *ret_end: when the nearest lease ends; 0: it was not told. */
static bool try_until(jpermits *j, int count, long long lease_ms, jgrant *ret,
                      long long *ret_end)
{
    char ids[JPERMITS_MOST][ID_SIZE];
    char digits[16];
    char score[24];
    bytes args[JPERMITS_MOST + 2];
    redisReply *reply;
    bool has;

    need(count <= JPERMITS_MOST, "so many permits");
    (void)snprintf(digits, sizeof(digits), "%d", count);
    score_write(j, lease_ms, score, sizeof(score));
    args[0] = text(digits);
    args[1] = text(score);
    for (int i = 0; i < count; i++) {
        id_make(ids[i]);
        args[i + 2] = (bytes){ids[i], ID_SIZE};
    }
    reply = step(j, acquire_script, args, (size_t)count + 2);
    has = reply->type == REDIS_REPLY_STRING && strcmp(reply->str, "OK") == 0;
    *ret_end = !has && reply->type == REDIS_REPLY_STRING
                   ? strtoll(reply->str + 1, NULL, 10)
                   : 0;
    freeReplyObject(reply);
    if (has) {
        ret->count = count;
        for (int i = 0; i < count; i++)
            id_show(ids[i], ret->ids[i]);
    }
    return has;
}

bool jpermits_try(jpermits *j, int count, long long lease_ms, jgrant *ret)
{
    long long end;

    return try_until(j, count, lease_ms, ret, &end);
}

/* The next thing that comes on the channel; false: nothing within wait_ms. */
static bool hear(jpermits *j, int wait_ms)
{
    struct pollfd p = {.fd = j->messages->fd, .events = POLLIN};
    void *reply = NULL;

    need(redisGetReplyFromReader(j->messages, &reply) == REDIS_OK, "read");
    if (reply == NULL) {
        if (poll(&p, 1, wait_ms) != 1)
            return false;
        need(redisGetReply(j->messages, &reply) == REDIS_OK, "read");
    }
    freeReplyObject(reply);
    return true;
}

static void say(jpermits *j, const char *command)
{
    redisReply *reply = redisCommand(j->messages, command);

    need(reply != NULL, command);
    freeReplyObject(reply);
}

bool jpermits_acquire(jpermits *j, int count, long long lease_ms,
                      unsigned wait_ms, jgrant *ret)
{
    uint64_t until = wait_now_ms() + wait_ms;
    long long end;
    bool has = try_until(j, count, lease_ms, ret, &end);

    if (has)
        return true;
    say(j, "SUBSCRIBE " CHANNEL);
    while (!(has = try_until(j, count, lease_ms, ret, &end)) &&
           wait_now_ms() < until) {
        long long ms = (long long)(until - wait_now_ms());

        if (end != 0 && end - now_ms(j) < ms)
            ms = end - now_ms(j) > 0 ? end - now_ms(j) : 0;
        (void)hear(j, (int)ms);
    }
    say(j, "UNSUBSCRIBE " CHANNEL);
    while (hear(j, 0)) {
    }
    return has;
}

/* ---- one permit ------------------------------------------------------------- */

bool jpermits_release(jpermits *j, const char *id)
{
    char raw[ID_SIZE];
    const bytes arg = {raw, ID_SIZE};

    id_read(id, raw);
    return step_number(j, release_script, &arg, 1) == 1;
}

int jpermits_release_all(jpermits *j, const jgrant *grant)
{
    char raw[JPERMITS_MOST][ID_SIZE];
    bytes args[JPERMITS_MOST];

    for (int i = 0; i < grant->count; i++) {
        id_read(grant->ids[i], raw[i]);
        args[i] = (bytes){raw[i], ID_SIZE};
    }
    return (int)step_number(j, release_all_script, args, (size_t)grant->count);
}

bool jpermits_update(jpermits *j, const char *id, long long lease_ms)
{
    char raw[ID_SIZE];
    char score[24];
    bytes args[2] = {{raw, ID_SIZE}};

    id_read(id, raw);
    score_write(j, lease_ms, score, sizeof(score));
    args[1] = text(score);
    return step_number(j, update_script, args, 2) == 1;
}

long long jpermits_lease(jpermits *j, const char *id)
{
    char raw[ID_SIZE];
    const bytes arg = {raw, ID_SIZE};

    id_read(id, raw);
    return step_number(j, lease_script, &arg, 1);
}
