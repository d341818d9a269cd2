/* SPDX-License-Identifier: MIT */

/* What a process and its connection say of how far a server is believed. */

#include "base/deadline.h"
#include "claims/node.h"
#include "server/naming.h"

/* Without a connection the process that gave may be another by now, unless nobody
   is there. */
void lk__belief_stays(lk__node *node)
{
    uint64_t absent_at = node->command.absent_at;
    uint64_t stays =
        absent_at != 0 ? lk__deadline_ns(absent_at, LK__BELIEF_MS) : 0;

    if (lk__node_is_ready(node) || stays > node->belief.until)
        stays = node->belief.until;
    node->belief.stays = stays;
}

/* One that does not say when it began has done so when it was met. With
   failover=fast that is of no account: see lk__node_gives(). */
void lk__belief_born(lk__node *node)
{
    int64_t born_at = node->command_greeting.born_at;
    uint64_t from = node->command.ready_at;

    if (!lk__node_is_ready(node) || born_at < 0)
        return;
    if ((uint64_t)born_at < from)
        from = (uint64_t)born_at;
    from = lk__wait_until_ns(from, LK__BELIEF_MS);
    if (from > node->belief.from)
        node->belief.from = from;
}
