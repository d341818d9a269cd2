/* SPDX-License-Identifier: MIT */
#include "fault/faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "check/check.h"

enum { MS = 1000000, FORGET_MS = 6000, STEP_S = 2 };

/* What a server that forgets, or whose clock goes ahead, breaks. */
enum { FORGOTTEN = CHECKER_EXCLUSION | CHECKER_ORDER | CHECKER_COUNTS };

static stage_worker *worker_of(nemesis *n, const fault *f)
{
    return &n->stage->workers[f->target];
}

/* ---- processes ---- */

static void stop(nemesis *n, fault *f)
{
    int status;

    (void)atomic_fetch_add(&n->stage->shared->stops, 1);
    (void)kill(worker_of(n, f)->pid, SIGSTOP);
    (void)waitpid(worker_of(n, f)->pid, &status, WUNTRACED);
}

static void go_on(nemesis *n, fault *f)
{
    (void)atomic_fetch_add(&n->stage->shared->stops, 1);
    (void)kill(worker_of(n, f)->pid, SIGCONT);
}

/* What is done to its network ends with it: the next one has another number. */
static void kill_worker(nemesis *n, fault *f)
{
    fault *network = &n->faults[NETWORKS];

    if (network->class != NULL && network->target == f->target)
        fault_end(n, network);
    stage_fire(n->stage, f->target);
    n->broken |= !stage_hire(n->stage, f->target);
    f->gone = true;
}

static void shift_workers(nemesis *n, fault *f)
{
    (void)f;
    *n->stage->worker_shift +=
        ((int64_t)play_draw(&n->random, 7200) - 3600) * 1000 * MS;
}

/* ---- networks ---- */

static proxy *road_of(nemesis *n, const fault *f)
{
    return f->class->track == NODES ? n->stage->node_roads[f->target]
                                    : worker_of(n, f)->road;
}

static proxy_way draw_way(nemesis *n)
{
    return play_draw(&n->random, 2) == 0 ? PROXY_REQUESTS : PROXY_REPLIES;
}

static void delay(nemesis *n, fault *f)
{
    proxy_delay(road_of(n, f), PROXY_ALL, draw_way(n),
                1 + (unsigned)play_draw(&n->random, 200));
}

static void stall(nemesis *n, fault *f)
{
    proxy_stall(road_of(n, f), PROXY_ALL, draw_way(n));
}

static void hold(nemesis *n, fault *f)
{
    proxy_hold(road_of(n, f), PROXY_ALL, draw_way(n));
}

static void swallow(nemesis *n, fault *f)
{
    proxy_swallow(road_of(n, f), PROXY_ALL, draw_way(n));
}

static void cut(nemesis *n, fault *f)
{
    proxy_cut(road_of(n, f), PROXY_ALL, draw_way(n),
              (int64_t)play_draw(&n->random, 2000));
}

static void drop_replies(nemesis *n, fault *f)
{
    proxy_drop_replies(road_of(n, f), PROXY_ALL, play_draw(&n->random, 2) == 0);
}

static void reset(nemesis *n, fault *f)
{
    proxy_reset(road_of(n, f), PROXY_ALL);
}

static void refuse(nemesis *n, fault *f)
{
    proxy_refuse(road_of(n, f), true);
    proxy_reset(road_of(n, f), PROXY_ALL);
}

static void heal(nemesis *n, fault *f)
{
    proxy_heal(road_of(n, f));
}

/* ---- the server ---- */

static void run_command(nemesis *n, const char *command)
{
    redisReply *reply = server_command(n->stage->server, command);

    if (reply->type == REDIS_REPLY_ERROR)
        (void)fprintf(stderr, "%s: %s\n", command, reply->str);
    freeReplyObject(reply);
}

static void freeze(nemesis *n, fault *f)
{
    (void)f;
    server_freeze(n->stage->server);
}

static void thaw(nemesis *n, fault *f)
{
    (void)f;
    server_thaw(n->stage->server);
}

static void restart(nemesis *n, fault *f)
{
    (void)f;
    n->broken |= !stage_restart(n->stage, n->stage->server);
}

static void sleep_server(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "DEBUG SLEEP 0.4");
}

static void pause_all(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CLIENT PAUSE 700 ALL");
}

static void pause_writes(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CLIENT PAUSE 700 WRITE");
}

static void kill_commands(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CLIENT KILL TYPE normal");
}

static void kill_inboxes(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CLIENT KILL TYPE pubsub");
}

static void flush_scripts(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, play_draw(&n->random, 2) == 0 ? "SCRIPT FLUSH SYNC"
                                                 : "SCRIPT FLUSH ASYNC");
}

static void fill_memory(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CONFIG SET maxmemory 1");
}

static void empty_memory(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "CONFIG SET maxmemory 0");
}

static const char *const denials[] = {"ACL SETUSER default -publish",
                                      "ACL SETUSER default -client|kill",
                                      "ACL SETUSER default -subscribe",
                                      "ACL SETUSER default -evalsha",
                                      "ACL SETUSER default -pexpire",
                                      "ACL SETUSER default -zadd",
                                      "ACL SETUSER default -hset"};

static void deny(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, denials[play_draw(&n->random,
                                     sizeof(denials) / sizeof(denials[0]))]);
}

static void allow(nemesis *n, fault *f)
{
    (void)f;
    run_command(n, "ACL SETUSER default +@all");
}

static void clock_ahead(nemesis *n, fault *f)
{
    (void)f;
    *n->stage->server_shift += (int64_t)STEP_S * 1000 * MS;
}

static void clock_back(nemesis *n, fault *f)
{
    (void)f;
    *n->stage->server_shift -= (int64_t)STEP_S * 1000 * MS;
    n->clock_went_back = true;
}

/* ---- what others do to names ---- */

static void delete_name(nemesis *n, fault *f)
{
    static const unsigned names[] = {0, 1, 2, 3};
    unsigned name = names[play_draw(&n->random, 4)];

    (void)f;
    (void)server_integer(n->stage->server, "DEL %s", play_names[name].name);
}

/* The permits have to be counted again. */
static void resize(stage *s)
{
    history_event event = play_event(4, HISTORY_INVOKE, HISTORY_RESIZE);
    lk_status status;

    event.operation = stage_operation(s);
    event.count = PLAY_PERMITS;
    stage_put(s, &event);
    status = lk_semaphore_resize(s->semaphore, PLAY_PERMITS);
    event.phase = status == LK_OK ? HISTORY_OK : HISTORY_UNKNOWN;
    event.status = status;
    stage_put(s, &event);
}

/* It deletes the latch as well, and the number of permits. */
static void flush(nemesis *n, fault *f)
{
    stage *s = n->stage;
    history_event event = play_event(7, HISTORY_INVOKE, HISTORY_DELETE);

    (void)f;
    n->data_lost = true;
    event.operation = stage_operation(s);
    stage_put(s, &event);
    server_flush(s->server);
    event.phase = HISTORY_OK;
    stage_put(s, &event);
    resize(s);
}

/* A hold that is passed on within its client may be another one by the time
   that the client hears of its end. */
static void force(nemesis *n, fault *f)
{
    stage *s = n->stage;
    unsigned name = (unsigned[]){0, 2, 3}[play_draw(&n->random, 3)];
    history_event event = play_event(name, HISTORY_INVOKE, HISTORY_FORCE);
    lk_status status;

    (void)f;
    event.operation = stage_operation(s);
    stage_put(s, &event);
    if (name == 0)
        status = lk_lock_force_release(s->lock);
    else if (name == 2)
        status = lk_fairlock_force_release(s->fair);
    else
        status = lk_rwlock_force_release(s->rwlock);
    event.phase = HISTORY_UNKNOWN;
    if (status == LK_OK || status == LK_ENOTHELD)
        event.phase = status == LK_OK ? HISTORY_OK : HISTORY_FAIL;
    event.status = status;
    event.deadline = history_now() + 300 * (uint64_t)MS;
    stage_put(s, &event);
}

/* ---- the servers of the lock over several ---- */

static void freeze_node(nemesis *n, fault *f)
{
    server_freeze(n->stage->nodes[f->target]);
}

static void thaw_node(nemesis *n, fault *f)
{
    server_thaw(n->stage->nodes[f->target]);
}

/* It forgets, and no other one does before it has a vote again. */
static void restart_node(nemesis *n, fault *f)
{
    uint64_t now = history_now();

    if (now < n->node_forgot_at + (uint64_t)FORGET_MS * MS)
        return;
    n->broken |= !stage_restart(n->stage, n->stage->nodes[f->target]);
    n->node_forgot_at = now;
}

/* ---- the list ---- */

const fault_class fault_classes[NEMESIS_CLASSES] = {
    {"process stopped", PROCESSES, CHECKER_DEADLINES, stop, go_on},
    {"process stopped again", PROCESSES, CHECKER_DEADLINES, stop, go_on},
    {"process killed", PROCESSES, 0, kill_worker, NULL},
    {"processes' clocks of day set", PROCESSES, 0, shift_workers, NULL},
    {"network slow", NETWORKS, 0, delay, heal},
    {"network stalls", NETWORKS, 0, stall, heal},
    {"network holds", NETWORKS, 0, hold, heal},
    {"network swallows", NETWORKS, 0, swallow, heal},
    {"connection cut after so many bytes", NETWORKS, 0, cut, heal},
    {"answers dropped", NETWORKS, 0, drop_replies, heal},
    {"connections reset", NETWORKS, 0, reset, NULL},
    {"connections refused", NETWORKS, 0, refuse, heal},
    {"server stopped", SERVER, 0, freeze, thaw},
    {"server killed and started", SERVER, 0, restart, NULL},
    {"server sleeps", SERVER, 0, sleep_server, NULL},
    {"all clients paused", SERVER, 0, pause_all, NULL},
    {"writes paused", SERVER, 0, pause_writes, NULL},
    {"command connections killed", SERVER, 0, kill_commands, NULL},
    {"inboxes killed", SERVER, 0, kill_inboxes, NULL},
    {"scripts flushed", SERVER, 0, flush_scripts, NULL},
    {"memory full", SERVER, 0, fill_memory, empty_memory},
    {"rights denied", SERVER, 0, deny, allow},
    {"rights denied again", SERVER, 0, deny, allow},
    {"server's clock set ahead", SERVER, FORGOTTEN, clock_ahead, NULL},
    {"server's clock set back", SERVER, 0, clock_back, NULL},
    {"name deleted", SERVER, FORGOTTEN, delete_name, NULL},
    {"all data deleted", SERVER, FORGOTTEN, flush, NULL},
    {"ended by force", SERVER, 0, force, NULL},
    {"node stopped", NODES, 0, freeze_node, thaw_node},
    {"node killed and started empty", NODES, 0, restart_node, NULL},
    {"node's network stalls", NODES, 0, stall, heal},
    {"node's network swallows", NODES, 0, swallow, heal},
    {"node's answers dropped", NODES, 0, drop_replies, heal},
    {"node's connections reset", NODES, 0, reset, NULL},
};

bool fault_is_too_much(const nemesis *n, const fault_class *class)
{
    return (class->begin == flush && n->clock_went_back) ||
           (class->begin == clock_back && n->data_lost);
}

bool fault_is_death(const fault_class *class)
{
    return class->begin == kill_worker;
}
