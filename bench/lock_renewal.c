/* SPDX-License-Identifier: MIT */

/*
 * Renewal: one client holds very many locks, which its watchdog renews. They
 * were acquired as fast as possible, so that they fall due close together,
 * which is the hard case. Beside it another client sends a PING every
 * millisecond and notes how long it takes. The same again beside a connection
 * that sends as many plain commands, evenly, which is the easy case.
 */

#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "lock_rows.h"
#include "measure.h"
#include "server.h"

enum {
    PING_EVERY_NS = 1000000,
    PING_ALONE_NS = 500000000,
    TICK_NS = 10000000,
    WAIT_TICKS = 12000,
    IN_FLIGHT = 4096,
    SLOW_US = 1000,
    WATCHDOG_MS = 30000
};

struct scene {
    unsigned holds;
    uint64_t ns;
    int cpu;
    double plain_per_s; /* 0: the product */
    double ping_ns;     /* what one costs the server, if it does nothing else */
    double server_ns;   /* processor time, without that of the pings */
    renewal result;
};

/* ---- the ping ------------------------------------------------------------------ */

/* Returns how many there were. It must not queue behind the own client. */
static size_t ping_for(renewal *result, redisContext *redis, uint64_t ns)
{
    uint64_t until = now_ns() + ns;
    size_t room = ns / PING_EVERY_NS + 1;
    double *samples = memory_new(room, sizeof(*samples));
    size_t count = 0;

    (void)hurry();
    while (count < room && now_ns() < until) {
        uint64_t begin = now_ns();

        server_do(redis, "PING");
        samples[count++] = (double)(now_ns() - begin) / 1e3;
        sleep_ns(PING_EVERY_NS);
    }
    result->ping_p50_us = quantile(samples, count, 0.5);
    result->ping_p999_us = quantile(samples, count, 0.999);
    free(samples);
    return count;
}

static void alone_run(void *data)
{
    struct scene *scene = data;
    redisContext *redis = server_connect();
    uint64_t before;
    size_t count;

    pin(0, scene->cpu);
    server_do(redis, "FLUSHALL");
    before = server_busy_ns(redis);
    count = ping_for(&scene->result, redis, PING_ALONE_NS);
    scene->ping_ns = (double)(server_busy_ns(redis) - before) / (double)count;
}

/* ---- slow commands --------------------------------------------------------------- */

static void slow_begin(redisContext *redis)
{
    server_do(redis, "CONFIG SET slowlog-log-slower-than %d", SLOW_US);
    server_do(redis, "CONFIG SET slowlog-max-len 1000");
    server_do(redis, "SLOWLOG RESET");
}

static bool is_script(const redisReply *entry)
{
    const redisReply *words = entry->element[3];

    return words->elements > 0 && words->element[0]->len >= 4 &&
           (words->element[0]->str[0] | 0x20) == 'e' &&
           (words->element[0]->str[1] | 0x20) == 'v';
}

static void slow_end(renewal *result, redisContext *redis)
{
    redisReply *reply = redisCommand(redis, "SLOWLOG GET 1000");

    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
        errx(1, "SLOWLOG is refused");
    for (size_t i = 0; i < reply->elements; i++) {
        double us = (double)reply->element[i]->element[2]->integer;

        if (!is_script(reply->element[i]))
            continue;
        result->slow++;
        if (us > result->slowest_us)
            result->slowest_us = us;
    }
    freeReplyObject(reply);
}

/* ---- many holds ------------------------------------------------------------------- */

struct crowd {
    atomic_uint asked, held;
};

static void on_hold(lk_status status, lk_hold *hold, void *data)
{
    struct crowd *crowd = data;

    (void)hold; /* kept until the process ends */
    if (status != LK_OK)
        errx(1, "acquire: %s", lk_last_error());
    (void)atomic_fetch_add(&crowd->held, 1);
}

static void crowd_ask(struct crowd *crowd, lk_client *client)
{
    char name[32];
    lk_lock *lock;

    (void)snprintf(name, sizeof(name), "orders:%u", atomic_load(&crowd->asked));
    lock = lock_open(client, name);
    if (lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_hold, crowd) != LK_OK)
        errx(1, "acquire: %s", lk_last_error());
    lk_lock_free(lock);
    (void)atomic_fetch_add(&crowd->asked, 1);
}

static lk_client *crowd_open(unsigned holds)
{
    static struct crowd crowd;
    lk_client *client =
        client_open(is_quick() ? WATCHDOG_MS / 10 : WATCHDOG_MS);

    for (int i = 0; atomic_load(&crowd.held) < holds; i++) {
        while (atomic_load(&crowd.asked) < holds &&
               atomic_load(&crowd.asked) - atomic_load(&crowd.held) < IN_FLIGHT)
            crowd_ask(&crowd, client);
        if (i == WAIT_TICKS)
            errx(1, "acquiring takes too long");
        sleep_ns(TICK_NS);
    }
    return client;
}

/* ---- what the server and the ping see ----------------------------------------------- */

struct look {
    uint64_t at, server_ns, machine_ns, own_ns, preempted;
    script_stats scripts;
};

static struct look look(redisContext *redis)
{
    return (struct look){
        .at = now_ns(),
        .server_ns = server_busy_ns(redis),
        .machine_ns = machine_busy_ns(),
        .own_ns = own_busy_ns(),
        .preempted = server_preempted(),
        .scripts = server_scripts(redis),
    };
}

static void note(struct scene *scene, const struct look *a,
                 const struct look *b, size_t pings)
{
    renewal *result = &scene->result;
    uint64_t server_ns = b->server_ns - a->server_ns;
    uint64_t calls = b->scripts.calls - a->scripts.calls;

    scene->server_ns = (double)server_ns - scene->ping_ns * (double)pings;
    if (calls > 0)
        result->script_us =
            (double)(b->scripts.us - a->scripts.us) / (double)calls;
    result->preempted = (double)(b->preempted - a->preempted);
    result->foreign =
        foreign_part(b->machine_ns - a->machine_ns, b->own_ns - a->own_ns,
                     server_ns, b->at - a->at);
}

/* sender is a child that ends with the measurement, 0 if there is none. */
static void watch(struct scene *scene, redisContext *redis, pid_t sender)
{
    struct look begin, end;
    size_t pings;

    slow_begin(redis);
    begin = look(redis);
    pings = ping_for(&scene->result, redis, scene->ns);
    if (sender != 0)
        child_kill((int)sender); /* its time counts once it is gone */
    end = look(redis);
    slow_end(&scene->result, redis);
    note(scene, &begin, &end, pings);
}

static void conclude(struct scene *scene, double count)
{
    scene->result.per_s = count / ((double)scene->ns / 1e9);
    scene->result.server_us = scene->server_ns / 1e3 / count;
}

/* Each hold was renewed once: from here on they come as they always will. */
static void wait_for_renewals(lk_client *client, unsigned holds)
{
    for (int i = 0; client_stats(client).renewals < holds; i++) {
        if (i == WAIT_TICKS)
            errx(1, "the holds are not renewed");
        sleep_ns(TICK_NS);
    }
}

static void product_run(void *data)
{
    struct scene *scene = data;
    redisContext *redis;
    lk_client *client;
    uint64_t renewals;

    pin(0, scene->cpu);
    redis = server_connect();
    server_do(redis, "FLUSHALL");
    client = crowd_open(scene->holds);
    wait_for_renewals(client, scene->holds);
    renewals = client_stats(client).renewals;
    watch(scene, redis, 0);
    renewals = client_stats(client).renewals - renewals;
    if (renewals == 0 || client_stats(client).losses != 0)
        errx(1, "holds were lost, or none was renewed");
    conclude(scene, (double)renewals);
}

/* ---- plain commands ----------------------------------------------------------------- */

/* As many as are due, at each tick, in one write. Never ends. */
_Noreturn static void plain_send(const struct scene *scene)
{
    redisContext *redis = server_connect();
    uint64_t begin = now_ns();
    uint64_t sent = 0;
    void *reply;

    for (;;) {
        double seconds = (double)(now_ns() - begin) / 1e9;
        uint64_t due = (uint64_t)(seconds * scene->plain_per_s);
        unsigned count = 0;

        for (; sent < due; sent++, count++)
            (void)redisAppendCommand(redis, "PEXPIRE orders:%u 30000",
                                     (unsigned)(sent % scene->holds));
        for (; count > 0; count--) {
            if (redisGetReply(redis, &reply) != REDIS_OK)
                errx(1, "no answer: %s", redis->errstr);
            freeReplyObject(reply);
        }
        sleep_ns(TICK_NS);
    }
}

static void plain_fill(const struct scene *scene, redisContext *redis)
{
    server_do(redis, "FLUSHALL");
    for (unsigned i = 0; i < scene->holds; i++)
        server_do(redis, "HSET orders:%u owner 1", i);
}

static void plain_run(void *data)
{
    struct scene *scene = data;
    redisContext *redis = server_connect();
    pid_t sender;

    pin(0, scene->cpu);
    plain_fill(scene, redis);
    sender = fork();
    if (sender == 0)
        plain_send(scene);
    if (sender < 0)
        errx(1, "cannot fork");
    watch(scene, redis, sender);
    conclude(scene, scene->plain_per_s * (double)scene->ns / 1e9);
}

/* ---- both -------------------------------------------------------------------------- */

static void measure(struct scene *scene, void (*fn)(void *data))
{
    scene->cpu = place_take(CROSS);
    wait_for_quiet();
    run_apart(fn, scene);
}

void renewal_measure(unsigned holds, uint64_t ns, renewal *ret_renewed,
                     renewal *ret_plain)
{
    struct scene *scene = shared_new(sizeof(*scene));

    scene->holds = holds;
    scene->ns = ns;
    measure(scene, alone_run);
    measure(scene, product_run);
    *ret_renewed = scene->result;
    scene->plain_per_s = scene->result.per_s;
    scene->result = (renewal){.per_s = 0};
    measure(scene, plain_run);
    *ret_plain = scene->result;
    shared_free(scene, sizeof(*scene));
}
