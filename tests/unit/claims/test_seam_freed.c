/* SPDX-License-Identifier: MIT */

/* The client on a virtual clock: it is given back while a call of its own
   sleeps. The sanitizer says whether the call touches it after that. */

#include "support/check.h"
#include "support/played.h"

enum { SOON_MS = 50, LONG_MS = 10000 };

static lk_hold *held;

/* As another thread would. */
static void give_back(void *data)
{
    played *p = data;
    lk_lock *lock = p->lock;
    lk_client *client = p->client;

    p->lock = NULL;
    p->client = NULL;
    if (held != NULL)
        assert_status(lk_hold_release(held), LK_ECLOSED);
    held = NULL;
    lk_lock_free(lock);
    lk_client_free(client);
}

static void give_back_soon(played *p)
{
    fake_world_at(p->world, fake_world_now(p->world) + SOON_MS * FAKE_MS,
                  give_back, p);
}

CHECK_TEST(a_client_may_be_freed_during_its_shutdown)
{
    played *p = played_new(11, NULL);

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &held), LK_OK);
    p->answers[PLAYED_RELEASE] = played_silence;
    give_back_soon(p);
    assert_status(lk_client_shutdown(p->client, LONG_MS), LK_ETIMEDOUT);
    played_free(p);
}

CHECK_TEST(a_client_may_be_freed_while_it_is_waited_for)
{
    played *p = played_new(12, NULL);

    p->connect_answer = SIM_SILENT;
    played_break(p);
    played_run_ms(p, 10);
    give_back_soon(p);
    assert_status(lk_client_wait_ready(p->client, LONG_MS), LK_ECLOSED);
    played_free(p);
}
