/* SPDX-License-Identifier: MIT */

/* How fast what anybody may cause is done. */

#include "base/tempo.h"
#include "support/check.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define STEP   (100 * MS)

enum { AT_ONCE = 10 };

CHECK_TEST(ten_are_done_at_once_and_then_ten_a_second)
{
    const uint64_t now = 7 * SECOND;
    uint64_t next = 0;

    for (unsigned i = 0; i < AT_ONCE; i++)
        assert_int_equal(lk__tempo_hint(&next, now), now);
    for (unsigned i = 1; i <= 3 * AT_ONCE; i++)
        assert_int_equal(lk__tempo_hint(&next, now), now + i * STEP);
}

/* Each tenth of a second gives room for one more, up to ten. */
CHECK_TEST(a_pause_gives_room_again)
{
    uint64_t next = 0, now = SECOND;

    for (unsigned i = 0; i < AT_ONCE; i++)
        (void)lk__tempo_hint(&next, now);
    now += 2 * STEP;
    assert_int_equal(lk__tempo_hint(&next, now), now);
    assert_int_equal(lk__tempo_hint(&next, now), now);
    assert_int_equal(lk__tempo_hint(&next, now), now + STEP);
    now += 100 * SECOND;
    for (unsigned i = 0; i < AT_ONCE; i++)
        assert_int_equal(lk__tempo_hint(&next, now), now);
    assert_int_equal(lk__tempo_hint(&next, now), now + STEP);
}
