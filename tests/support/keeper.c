/* SPDX-License-Identifier: MIT */

#include "support/keeper.h"

#include <latchkey/latchkey.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"

enum { END_MS = 10000, LOOK_US = 2000 };

/* ---- in the process itself ----------------------------------------------------- */

static void must(lk_status status)
{
    if (status != LK_OK)
        _exit(3);
}

static lk_hold *hold_of(lk_client *client, const char *name, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    lk_lock *lock;
    lk_hold *hold;

    must(lk_lock_new(&lock, client, name, NULL));
    must(lk_lock_acquire(lock, wait_ms, options, &hold));
    lk_lock_free(lock);
    return hold;
}

static lk_hold *
write_of(lk_client *client, const char *name, const lk_acquire_options *options)
{
    lk_rwlock *rwlock;
    lk_hold *hold;

    must(lk_rwlock_new(&rwlock, client, name, NULL));
    must(lk_rwlock_acquire_write(rwlock, LK_FOREVER, options, &hold));
    lk_rwlock_free(rwlock);
    return hold;
}

/* Somebody holds it: else a circle of keepers would not come about. */
static void await_held(lk_client *client, const char *name)
{
    lk_lock *lock;
    bool held = false;

    must(lk_lock_new(&lock, client, name, NULL));
    while (!held) {
        must(lk_lock_is_locked(lock, &held)); /* whatever the kind */
        (void)usleep(LOOK_US);
    }
    lk_lock_free(lock);
}

static lk_hold *begin(lk_client *client, const keeper_how *how,
                      const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    if (how->holds != NULL)
        hold = hold_of(client, how->holds, END_MS, options);
    if (how->reads != NULL) {
        lk_rwlock *rwlock;

        must(lk_rwlock_new(&rwlock, client, how->reads, NULL));
        must(lk_rwlock_acquire_read(rwlock, END_MS, options, &hold));
        lk_rwlock_free(rwlock);
    }
    if (how->takes != NULL) {
        lk_semaphore_options three = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 3};
        lk_semaphore *semaphore;

        must(lk_semaphore_new(&semaphore, client, how->takes, &three));
        must(lk_semaphore_acquire(semaphore, 2, END_MS, options, &hold));
        lk_semaphore_free(semaphore);
    }
    return hold;
}

static _Noreturn void keep(const keeper_how *how, int ready)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .reason = how->reason};
    lk_client *client;
    lk_hold *hold;
    lk_loss loss;

    must(lk_client_open(&client, how->url, NULL));
    must(lk_client_wait_ready(client, END_MS));
    hold = begin(client, how, &options);
    if (write(ready, "k", 1) != 1)
        _exit(4);
    if (how->is_apart)
        must(lk_owner_new(&options.owner, client));
    if (how->waits != NULL || how->writes != NULL)
        await_held(client, how->waits != NULL ? how->waits : how->writes);
    if (how->waits != NULL)
        hold = hold_of(client, how->waits, LK_FOREVER, &options);
    if (how->writes != NULL)
        hold = write_of(client, how->writes, &options);
    while (hold == NULL || lk_hold_check(hold) == LK_OK)
        (void)usleep(LOOK_US);
    loss = lk_hold_loss(hold);
    (void)lk_hold_release(hold);
    (void)lk_client_shutdown(client, END_MS);
    _exit(loss == LK_LOSS_REVOKED ? 0 : 5);
}

/* ---- in the test ------------------------------------------------------------- */

pid_t keeper_start(const keeper_how *how)
{
    int ends[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[0]);
        keep(how, ends[1]);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    return pid;
}

typedef struct waiting {
    pid_t pid;
    int status;
} waiting;

static bool has_ended(void *data)
{
    waiting *w = data;

    return waitpid(w->pid, &w->status, WNOHANG) == w->pid;
}

int keeper_join(pid_t keeper)
{
    waiting w = {.pid = keeper};

    assert_true(wait_until(has_ended, &w, END_MS));
    return WIFSIGNALED(w.status) ? 128 + WTERMSIG(w.status)
                                 : WEXITSTATUS(w.status);
}

void keeper_kill(pid_t keeper)
{
    if (keeper <= 0 || kill(keeper, SIGKILL) != 0)
        return;
    (void)waitpid(keeper, NULL, 0);
}
