/* SPDX-License-Identifier: MIT */

/*
 * Tasks; see task.h.
 *
 * An async one is idle, or runs, which includes that it is about to, or runs
 * and has been woken meanwhile. Only who makes an idle one run may touch it, so
 * it has one thread at a time, and one that ends while it runs is queued
 * nowhere.
 */

#include "redlock/task.h"

#include "base/container.h"
#include "base/error.h"

enum { IDLE, RUNNING, RUNNING_AGAIN };

void lk__task_run(lk__task *task)
{
    lk__world *world = task->home->world;
    int was;

    world->class->parking_init(world, &task->parking);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    while (!task->advance(task))
        world->class->park(world, &task->parking, task->due);
    (void)pthread_setcancelstate(was, &was);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__task *task = LK__CONTAINER_OF(alarm, lk__task, alarm);

    lk__task_wake(task, task->home);
}

static void alarm_move(lk__task *task, uint64_t at)
{
    lk__client_lock(task->home);
    if (at == LK__NEVER)
        lk__alarm_clear(&task->home->alarms, &task->alarm);
    else
        lk__alarm_set(&task->home->alarms, &task->alarm, at);
    lk__client_leave(task->home);
}

static void run(lk__post *chore)
{
    lk__task *task = LK__CONTAINER_OF(chore, lk__task, chore);
    int running;

    do {
        if (task->advance(task)) {
            alarm_move(task, LK__NEVER);
            task->finish(task);
            return;
        }
        alarm_move(task, task->due);
        running = RUNNING;
        if (atomic_compare_exchange_strong(&task->state, &running, IDLE))
            return; /* another thread may have it by now */
        atomic_store(&task->state, RUNNING);
    } while (true);
}

void lk__task_begin(lk__task *task)
{
    task->chore.run = run;
    task->chore.inner = true;
    task->alarm.fire = on_alarm;
    atomic_store(&task->state, RUNNING);
    run(&task->chore);
}

void lk__task_wake(lk__task *task, lk_client *client)
{
    lk__world *world = task->home->world;
    int state = atomic_load(&task->state);
    int next;

    if (task->finish == NULL) {
        world->class->unpark(world, &task->parking);
        return;
    }
    do {
        next = state == IDLE ? RUNNING : RUNNING_AGAIN;
    } while (!atomic_compare_exchange_weak(&task->state, &state, next));
    if (next == RUNNING)
        lk__client_post(client, &task->chore);
}

void lk__task_deliver(lk__call *call, lk_client *client, lk_status status,
                      void (*deliver)(lk__call *call))
{
    lk__call_init(call, client, deliver);
    lk__client_lock(client);
    lk__call_done(call, status, status == LK_OK ? NULL : lk_last_error());
    lk__client_leave(client);
}
