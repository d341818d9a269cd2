/* SPDX-License-Identifier: MIT */

/*
 * Renewals beside everything else that a client does, and with a server that
 * does not keep up. Three scenes, each on a server and a client of its own:
 *
 *   crowd  100,000 holds that the watchdog renews, and 4,096 loops that acquire
 *          and release, all in one client
 *   grow   300,000 holds, acquired with 4,096 acquires under way
 *   slow   acquires that are all kept, 256 under way, while other processes
 *          keep the server busy with scripts that run long: how many holds
 *          there are is up to the client
 *
 * In the first two no hold may be lost: one that is ends the program with 1. A
 * server that becomes slower after the holds were taken may lose some in the
 * third; it shows that acquires are held back before that.
 *
 * renewal_bench [crowd|grow|slow] [--minutes N] [--holds N]
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"

#define SECOND      UINT64_C(1000000000)
#define PATIENCE_NS (600 * SECOND)

enum {
    CROWD_HOLDS = 100000,
    CROWD_LOOPS = 4096,
    GROW_HOLDS = 300000,
    GROW_UNDER_WAY = 4096,
    SLOW_UNDER_WAY = 256,
    SLOW_PROCESSES = 8,
    SLOW_STEPS = 1500000, /* of a busy script: about 10 ms */
    SLOW_WATCHDOG_MS = 12000,
    QUICK = 10, /* times less */
    TICK_NS = 10000000,
    ROW_NS = 2000000000
};

struct plan {
    const char *scene; /* NULL: all */
    double minutes;    /* 0: each scene's own time */
    unsigned holds;    /* 0: the same */
};

/* What one scene does. */
struct scene {
    unsigned keep, loops, under_way;
    uint64_t ns, watchdog_ms;
    bool may_lose;
    lk_client *client;
    redisContext *redis;
    atomic_uint asked, held;
    atomic_ullong pairs;
    atomic_bool over;
    uint64_t began_at;
};

/* One that acquires and releases again and again. */
struct loop {
    struct scene *scene;
    lk_lock *lock;
};

static void must(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s", what, lk_last_error());
}

/* ---- the client -------------------------------------------------------------- */

static void on_log(lk_log_level level, const char *text, void *data)
{
    const struct scene *scene = data;

    if (level == LK_LOG_ERROR)
        return; /* a loss: they are counted */
    printf("%6.1f s  log: %s\n", (double)(now_ns() - scene->began_at) / 1e9,
           text);
}

static void client_begin(struct scene *scene)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = scene->watchdog_ms,
                                 .log = on_log, .log_data = scene,
                                 .log_level = LK_LOG_INFO};

    scene->began_at = now_ns();
    must(lk_client_open(&scene->client, server_url(), &options), "open");
    must(lk_client_wait_ready(scene->client, 10000), "ready");
    scene->redis = server_connect();
}

static lk_client_stats client_stats(const struct scene *scene)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    must(lk_client_stats_get(scene->client, &stats), "stats");
    return stats;
}

/* ---- holds that are kept ---------------------------------------------------------- */

static void on_kept(lk_status status, lk_hold *hold, void *data)
{
    struct scene *scene = data;

    (void)hold; /* until the process ends */
    if (!atomic_load(&scene->over))
        must(status, "acquire");
    (void)atomic_fetch_add(&scene->held, 1);
}

static void keep_one(struct scene *scene)
{
    char name[32];
    lk_lock *lock;

    (void)snprintf(name, sizeof(name), "kept:%u", atomic_load(&scene->asked));
    must(lk_lock_new(&lock, scene->client, name, NULL), "lock");
    must(lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_kept, scene),
         "acquire");
    lk_lock_free(lock);
    (void)atomic_fetch_add(&scene->asked, 1);
}

static void keep_more(struct scene *scene)
{
    while (atomic_load(&scene->asked) < scene->keep &&
           atomic_load(&scene->asked) - atomic_load(&scene->held) <
               scene->under_way)
        keep_one(scene);
}

/* ---- loops ---------------------------------------------------------------------- */

static void on_held(lk_status status, lk_hold *hold, void *data);

static void loop_turn(struct loop *loop)
{
    if (!atomic_load(&loop->scene->over))
        must(lk_lock_acquire_async(loop->lock, LK_FOREVER, NULL, on_held, loop),
             "acquire");
}

static void on_released(lk_status status, void *data)
{
    struct loop *loop = data;

    if (atomic_load(&loop->scene->over))
        return;
    if (status !=
        LK_EPENDING) /* late on a busy machine; it goes on by itself */
        must(status, "release");
    (void)atomic_fetch_add(&loop->scene->pairs, 1);
    loop_turn(loop);
}

static void on_held(lk_status status, lk_hold *hold, void *data)
{
    struct loop *loop = data;

    if (atomic_load(&loop->scene->over))
        return;
    must(status, "acquire");
    must(lk_hold_release_async(hold, on_released, loop), "release");
}

static void loops_begin(struct scene *scene)
{
    struct loop *loops = memory_new(scene->loops + 1, sizeof(*loops));
    char name[32];

    for (unsigned i = 0; i < scene->loops; i++) {
        loops[i].scene = scene;
        (void)snprintf(name, sizeof(name), "loop:%u", i);
        must(lk_lock_new(&loops[i].lock, scene->client, name, NULL), "lock");
        loop_turn(&loops[i]);
    }
}

/* ---- what is seen ------------------------------------------------------------------ */

struct look {
    uint64_t at, server_ns, machine_ns, own_ns;
    unsigned held;
    unsigned long long pairs;
    lk_client_stats stats;
};

static struct look look(const struct scene *scene)
{
    return (struct look){.at = now_ns(),
                         .server_ns = server_busy_ns(scene->redis),
                         .machine_ns = machine_busy_ns(),
                         .own_ns = own_busy_ns(),
                         .held = atomic_load(&scene->held),
                         .pairs = atomic_load(&scene->pairs),
                         .stats = client_stats(scene)};
}

static void head(const char *words)
{
    printf("\n%s\n\n%8s %9s %9s %9s %9s %7s %7s %7s %7s %7s\n", words, "time",
           "holds", "kept/s", "pairs/s", "renewed/s", "lost", "late", "stayed",
           "server", "foreign");
}

static void
row(const struct scene *scene, const struct look *a, const struct look *b)
{
    double seconds = (double)(b->at - a->at) / 1e9;

    printf("%6.0f s %9u %9.0f %9.0f %9.0f %7llu %7llu %7llu %7.2f %7.2f\n",
           (double)(b->at - scene->began_at) / 1e9, b->held,
           (b->held - a->held) / seconds,
           (double)(b->pairs - a->pairs) / seconds,
           (double)(b->stats.renewals - a->stats.renewals) / seconds,
           (unsigned long long)b->stats.losses,
           (unsigned long long)b->stats.renewals_late,
           (unsigned long long)b->stats.holding_back,
           (double)(b->server_ns - a->server_ns) / 1e9 / seconds,
           foreign_part(b->machine_ns - a->machine_ns, b->own_ns - a->own_ns,
                        b->server_ns - a->server_ns, b->at - a->at));
    (void)fflush(stdout);
}

/* Rows at growing distances: one for each 2 s, and later for each tenth of the
   time. */
static void watch(struct scene *scene)
{
    uint64_t every_ns = scene->ns / 30 > ROW_NS ? scene->ns / 30 : ROW_NS;
    struct look first = look(scene), last = first;

    while (last.at < first.at + scene->ns) {
        struct look now;

        while (now_ns() < last.at + every_ns) {
            keep_more(scene);
            sleep_ns(TICK_NS / 10);
        }
        now = look(scene);
        row(scene, &last, &now);
        last = now;
    }
    printf("all in all\n");
    row(scene, &first, &last);
}

/* No word of goodbye: a million releases are not what is measured. */
_Noreturn static void end(struct scene *scene)
{
    lk_client_stats stats = client_stats(scene);

    atomic_store(&scene->over, true);
    printf("%llu holds lost, %llu renewals among the commands, %llu acquires "
           "held back for a while\n",
           (unsigned long long)stats.losses,
           (unsigned long long)stats.renewals_shared,
           (unsigned long long)stats.held_back);
    (void)fflush(stdout);
    _exit(stats.losses == 0 || scene->may_lose ? 0 : 1);
}

static void keep_all(struct scene *scene)
{
    struct look first = look(scene), last = first;

    while (atomic_load(&scene->held) < scene->keep) {
        if (now_ns() > first.at + PATIENCE_NS)
            errx(1, "the server keeps up with %u holds, and no more",
                 atomic_load(&scene->held));
        keep_more(scene);
        sleep_ns(TICK_NS / 10);
        if (now_ns() > last.at + ROW_NS) {
            struct look now = look(scene);

            row(scene, &last, &now);
            last = now;
        }
    }
}

/* ---- the scenes ----------------------------------------------------------------------- */

static void crowd(void *data)
{
    struct scene *scene = data;

    client_begin(scene);
    head("crowd: holds that are kept, and loops that acquire and release");
    keep_all(scene);
    loops_begin(scene);
    watch(scene);
    end(scene);
}

static void grow(void *data)
{
    struct scene *scene = data;

    client_begin(scene);
    head("grow: as many holds as fast as they come");
    keep_all(scene);
    watch(scene);
    end(scene);
}

/* Ends with the server. */
_Noreturn static void keep_busy(void)
{
    redisContext *redis = server_connect();
    redisReply *reply;

    while ((reply = redisCommand(redis, "EVAL %s 0 %d",
                                 "local n = 0 for i = 1, ARGV[1] do n = n + i "
                                 "end return 0",
                                 SLOW_STEPS)) != NULL)
        freeReplyObject(reply);
    _exit(0);
}

static void slow(void *data)
{
    struct scene *scene = data;
    pid_t busy[SLOW_PROCESSES];

    client_begin(scene);
    head("slow: the server has much else to do");
    for (int i = 0; i < SLOW_PROCESSES; i++) {
        busy[i] = fork();
        if (busy[i] == 0)
            keep_busy();
        if (busy[i] < 0)
            errx(1, "no process");
    }
    watch(scene);
    for (int i = 0; i < SLOW_PROCESSES; i++)
        child_kill(busy[i]);
    end(scene);
}

static void run(const struct plan *plan, const char *name,
                void (*fn)(void *data), struct scene scene)
{
    struct scene *shared;
    redisContext *redis;

    if (plan->scene != NULL && strcmp(plan->scene, name) != 0)
        return;
    if (is_quick())
        scene.keep /= QUICK;
    if (is_quick())
        scene.watchdog_ms /= QUICK / 2;
    if (plan->holds != 0)
        scene.keep = plan->holds;
    scene.ns = plan->minutes != 0 ? (uint64_t)(plan->minutes * 60e9)
                                  : scaled_ns(scene.ns);
    shared = shared_new(sizeof(*shared));
    *shared = scene;
    (void)fflush(stdout);
    run_apart(fn, shared);
    shared_free(shared, sizeof(*shared));
    redis = server_connect();
    server_do(redis, "FLUSHALL");
    redisFree(redis);
}

static struct plan plan_of(int argc, char **argv)
{
    struct plan plan = {.scene = NULL};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--minutes") == 0 && i + 1 < argc)
            plan.minutes = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--holds") == 0 && i + 1 < argc)
            plan.holds = (unsigned)strtoul(argv[++i], NULL, 10);
        else
            plan.scene = argv[i];
    }
    return plan;
}

int main(int argc, char **argv)
{
    struct plan plan = plan_of(argc, argv);

    server_start();
    run(&plan, "crowd", crowd,
        (struct scene){.keep = CROWD_HOLDS,
                       .loops = CROWD_LOOPS,
                       .under_way = CROWD_LOOPS,
                       .watchdog_ms = 30000,
                       .ns = 60 * SECOND});
    run(&plan, "grow", grow,
        (struct scene){.keep = GROW_HOLDS,
                       .under_way = GROW_UNDER_WAY,
                       .watchdog_ms = 30000,
                       .ns = 30 * SECOND});
    run(&plan, "slow", slow,
        (struct scene){.keep = UINT32_MAX,
                       .under_way = SLOW_UNDER_WAY,
                       .watchdog_ms = SLOW_WATCHDOG_MS,
                       .may_lose = true,
                       .ns = 60 * SECOND});
    return 0;
}
