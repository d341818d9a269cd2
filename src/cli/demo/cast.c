/* SPDX-License-Identifier: MIT */

/* The processes of a scene. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/demo/demo.h"

enum { TRIES = 1000 };

pid_t demo_fork(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const pid_t parent = getpid();
    pid_t pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    (void)setpgid(0, 0);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)signal(signals[i], SIG_DFL);
    return 0;
}

/* ---- an actor's process ------------------------------------------------- */

void demo_become(demo_stage *stage, int self, demo_state state)
{
    atomic_store(&stage->actors[self].state, (int)state);
    atomic_fetch_add(&stage->changes, 1);
}

/* Says that it is ready, and waits for the others. */
static void wait_for_go(demo_stage *stage)
{
    atomic_fetch_add(&stage->ready, 1);
    while (!atomic_load(&stage->go) && !atomic_load(&stage->stop))
        cli_pass_ms(2);
}

/* The client is opened after the fork: a parent's is of no use in a child. */
static _Noreturn void actor_run(demo *d, int self)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .name = d->scene->actor,
                                       .watchdog_ms = d->board->lease_ms};
    demo_stage *stage = &d->board->stage;
    demo_actor *actor = &stage->actors[self];
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, d->board->url, &options);

    if (status == LK_OK)
        status = lk_client_wait_ready(client, DEMO_PATIENCE_MS);
    if (status == LK_OK) {
        wait_for_go(stage);
        status = d->scene->play(d->board, self, client);
    }
    if (status != LK_OK) {
        (void)snprintf(actor->words, sizeof(actor->words), "%s (%s)",
                       lk_status_text(status), lk_last_error());
        atomic_store(&actor->failure, (int)status);
    }
    lk_client_free(client);
    _exit(status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- who is inside ------------------------------------------------------ */

/* The clock is read first: the time is rather too short than too long. */
void demo_enter(demo_stage *stage, int self, const lk_hold *hold)
{
    const uint64_t now = demo_now();

    atomic_store(&stage->actors[self].until,
                 now + lk_hold_remaining_ms(hold) * 1000000);
    atomic_fetch_add(&stage->changes, 1);
}

void demo_leave(demo_stage *stage, int self)
{
    atomic_store(&stage->actors[self].until, 0);
    atomic_fetch_add(&stage->changes, 1);
}

static int count_inside(const demo_stage *stage, bool with_dead)
{
    const uint64_t now = demo_now();
    int count = 0;

    for (int i = 0; i < DEMO_ACTORS; i++) {
        const demo_actor *actor = &stage->actors[i];

        if (atomic_load(&actor->until) > now &&
            (with_dead || atomic_load(&actor->state) != DEMO_DEAD))
            count++;
    }
    return count;
}

/* An actor that is seen inside while another leaves and a third enters has not been
   there with both. */
int demo_inside(const demo_stage *stage, bool with_dead)
{
    for (int i = 0; i < TRIES; i++) {
        const unsigned changes = atomic_load(&stage->changes);
        const int count = count_inside(stage, with_dead);

        if (atomic_load(&stage->changes) == changes)
            return count;
    }
    return 0;
}

void demo_raise(atomic_int *most, int value)
{
    int seen = atomic_load(most);

    while (seen < value && !atomic_compare_exchange_weak(most, &seen, value))
        continue;
}

/* ---- the command's process ---------------------------------------------- */

int demo_cast_failed(const demo *d)
{
    for (int i = 0; i < d->scene->actors; i++) {
        if (atomic_load(&d->board->stage.actors[i].failure) != LK_OK)
            return i;
    }
    return -1;
}

static bool all_are_ready(const demo *d)
{
    const uint64_t until = demo_now() + DEMO_PATIENCE_MS * UINT64_C(1000000);
    const atomic_int *ready = &d->board->stage.ready;

    while (atomic_load(ready) < d->scene->actors) {
        if (demo_interrupted() != 0 || demo_cast_failed(d) >= 0 ||
            demo_now() > until)
            return false;
        cli_pass_ms(2);
    }
    return true;
}

bool demo_cast_start(demo *d)
{
    for (int i = 0; i < d->scene->actors; i++) {
        const pid_t pid = demo_fork();

        if (pid == 0)
            actor_run(d, i);
        if (pid < 0) {
            demo_check(d, false, "a process could be started: %s",
                       strerror(errno));
            return false;
        }
        d->board->stage.actors[i].pid = pid;
    }
    if (all_are_ready(d))
        return true;
    if (demo_interrupted() == 0 && demo_cast_failed(d) < 0)
        demo_check(d, false, "all of them reached the server");
    return false;
}

void demo_cast_kill(demo *d, int index)
{
    demo_actor *actor = &d->board->stage.actors[index];

    (void)kill(actor->pid, SIGKILL);
    while (waitpid(actor->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    actor->pid = 0;
    demo_become(&d->board->stage, index, DEMO_DEAD);
}

/* Those that do not end by themselves are killed. After an interruption that
   is all of them. */
void demo_cast_end(demo *d)
{
    const uint64_t until = demo_now() + DEMO_PATIENCE_MS * UINT64_C(1000000);

    atomic_store(&d->board->stage.stop, true);
    for (int i = 0; i < d->scene->actors; i++) {
        demo_actor *actor = &d->board->stage.actors[i];

        while (actor->pid > 0 && demo_interrupted() == 0 &&
               demo_now() < until) {
            if (waitpid(actor->pid, NULL, WNOHANG) == actor->pid)
                actor->pid = 0;
            else
                cli_pass_ms(2);
        }
        if (actor->pid > 0)
            demo_cast_kill(d, i);
    }
}
