/* SPDX-License-Identifier: MIT */
#include "support/plain.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

lk_plain_semaphore *plain_with(locking *f, uint64_t permits)
{
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);

    assert_status(lk_plain_semaphore_try_set(semaphore, permits, 0), LK_OK);
    return semaphore;
}

void plain_take(lk_plain_semaphore *semaphore, uint64_t count, int64_t wait_ms)
{
    assert_status(lk_plain_semaphore_acquire(semaphore, count, wait_ms, NULL),
                  LK_OK);
}

void plain_give(lk_plain_semaphore *semaphore, uint64_t count)
{
    assert_status(lk_plain_semaphore_release(semaphore, count), LK_OK);
}

long long plain_value(locking *f)
{
    char *text = server_string(f->server, "GET n");
    long long value;

    assert_non_null(text);
    value = strtoll(text, NULL, 10);
    free(text);
    return value;
}

struct expected {
    locking *f;
    long long value;
};

static bool is_value(void *data)
{
    const struct expected *expected = data;

    return plain_value(expected->f) == expected->value;
}

void plain_wait_value(locking *f, long long value)
{
    struct expected expected = {f, value};

    if (!wait_until(is_value, &expected, SOON_MS))
        fail_msg("the counter is %lld instead of %lld", plain_value(f), value);
}

taker *plain_begin(locking *f, lk_plain_semaphore *semaphore, uint64_t count,
                   int64_t wait_ms, const lk_acquire_options *options)
{
    return locking_take_as(f, kinds[KIND_PLAIN], semaphore, count, wait_ms,
                           options);
}

taker *plain_queue_up(locking *f, lk_plain_semaphore *semaphore, uint64_t count,
                      long long place)
{
    return locking_queue_up_as(f, kinds[KIND_PLAIN], semaphore, count, place);
}
