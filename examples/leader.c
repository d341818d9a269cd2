/* SPDX-License-Identifier: MIT */

/*
 * Leads as often as it is elected. Run it three times at once: one works, the
 * others wait and say who leads. Interrupt the one that works, and the next
 * takes over at once; kill it, and the next does when its lease has ended.
 *
 *   cc leader.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 & ./a.out redis://127.0.0.1
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEASE_MS = 5000, CAMPAIGN_MS = 1000 };

static atomic_bool is_over;

static void on_signal(int number)
{
    (void)number;
    is_over = true;
}

/* On the client's thread, also of terms that are not ours. */
static void on_change(lk_status status, const lk_party *leader, void *data)
{
    (void)data;
    if (status != LK_OK)
        printf("who leads cannot be told: %s\n", lk_status_text(status));
    else if (leader == NULL)
        printf("nobody leads\n");
    else
        printf("%s leads in term %" PRIu64 "\n", leader->reason, leader->fence);
    fflush(stdout);
}

/* Before the end, and at the end: the time to stop what must not overlap. */
static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)data;
    printf("term %" PRIu64 " ends in %" PRIu64 " ms\n", lk_hold_fence(hold),
           remaining_ms);
    fflush(stdout);
}

/* What only the leader does. Each write would carry the term, and whoever
   stores it would refuse smaller ones. */
static void work(const lk_hold *lead)
{
    while (!is_over && lk_hold_check(lead) == LK_OK) {
        printf("working in term %" PRIu64 "\n", lk_hold_fence(lead));
        fflush(stdout);
        sleep(1);
    }
}

/* Campaigns and leads, again and again, until it is interrupted. */
static lk_status serve(lk_leader *leader)
{
    lk_status status = LK_OK;

    while (!is_over) {
        lk_hold *lead;

        status = lk_leader_campaign(leader, CAMPAIGN_MS, NULL, &lead);
        if (status == LK_OK) {
            work(lead);
            (void)lk_leader_resign(leader, lead); /* lost: campaign again */
        } else if (!lk_status_is_retriable(status)) {
            return status;
        } else if (status != LK_ETIMEDOUT) {
            fprintf(stderr, "leader: %s\n", lk_last_error());
            sleep(1);
        }
    }
    return LK_OK;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    const struct sigaction action = {.sa_handler = on_signal};
    char value[32];
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lease_ms = LEASE_MS, .value = value,
                                       .lost = on_lost};
    lk_client *client = NULL;
    lk_leader *leader = NULL;
    lk_leader_watch *watch = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    snprintf(value, sizeof(value), "process %ld", (long)getpid());
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (status == LK_OK)
        status = lk_leader_new(&leader, client, "scheduler", &options);
    if (status == LK_OK)
        status = lk_leader_watch_new(&watch, leader, on_change, NULL);
    if (status == LK_OK)
        status = serve(leader);
    if (status != LK_OK)
        fprintf(stderr, "leader: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_leader_watch_free(watch);
    lk_leader_free(leader);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
