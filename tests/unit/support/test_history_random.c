/* SPDX-License-Identifier: MIT */

/* What keeps the promises is not complained of. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/ideal.h"

enum { HISTORIES = 20000, LONG = 50 };

typedef struct played {
    checker *checker;
    uint64_t events;
    uint64_t by_call[HISTORY_CALLS][HISTORY_PHASES];
} played;

static void feed(const history_event *event, void *data)
{
    played *p = data;

    p->events++;
    p->by_call[event->call][event->phase]++;
    assert_true(checker_feed(p->checker, event));
}

static void play(played *p, uint64_t seed)
{
    const checker_options options = ideal_options();
    const checker_violation *violations;
    size_t listed;
    uint64_t total, end;

    p->checker = checker_new(&options);
    assert_non_null(p->checker);
    end = ideal_play(seed, feed, p);
    checker_end(p->checker, end);
    violations = checker_violations(p->checker, &listed, &total);
    if (total > 0)
        fail_msg("seed %llu: %s: %s", (unsigned long long)seed,
                 violations[0].name, violations[0].words);
    checker_free(p->checker);
}

/* A generator that never does something proves nothing about it. */
static void assert_all_happened(const played *p)
{
    static const history_call calls[] = {HISTORY_ACQUIRE,   HISTORY_RELEASE,
                                         HISTORY_DOWNGRADE, HISTORY_FORCE,
                                         HISTORY_ARM,       HISTORY_COUNT,
                                         HISTORY_RESET,     HISTORY_DELETE,
                                         HISTORY_ASK,       HISTORY_GIVE,
                                         HISTORY_WRITE,     HISTORY_FAULT};
    static const history_call events[] = {HISTORY_CHECKED, HISTORY_LOST,
                                          HISTORY_QUEUED, HISTORY_DIED};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_int_not_equal(p->by_call[calls[i]][HISTORY_INVOKE], 0);
        assert_int_not_equal(p->by_call[calls[i]][HISTORY_OK], 0);
    }
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        assert_int_not_equal(p->by_call[events[i]][HISTORY_EVENT], 0);
    assert_int_not_equal(p->by_call[HISTORY_ACQUIRE][HISTORY_FAIL], 0);
    assert_int_not_equal(p->by_call[HISTORY_ACQUIRE][HISTORY_UNKNOWN], 0);
    assert_int_not_equal(p->by_call[HISTORY_RELEASE][HISTORY_FAIL], 0);
    assert_int_not_equal(p->by_call[HISTORY_RELEASE][HISTORY_UNKNOWN], 0);
}

CHECK_TEST(a_valid_history_has_no_violation)
{
    uint64_t histories = HISTORIES;
    played p = {0};

    if (getenv("LK_LONG") != NULL)
        histories *= LONG;
    for (uint64_t seed = 0; seed < histories; seed++)
        play(&p, seed);
    assert_all_happened(&p);
    printf("%llu histories, %llu events\n", (unsigned long long)histories,
           (unsigned long long)p.events);
}

int main(void)
{
    return check_all(NULL, NULL);
}
