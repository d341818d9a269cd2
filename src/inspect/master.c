/* SPDX-License-Identifier: MIT */

/* Where the master is that sentinels name. */

#include <latchkey/inspect.h>

#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "claims/group.h"
#include "claims/node.h"
#include "claims/work.h"
#include "handle/handle.h"

lk_status lk_master_get(lk_client *client, lk_master *master)
{
    lk_status status = lk__client_check(client);
    lk_master all = {.size = 0};
    lk__group_facts facts;
    bool has_group;

    if (status == LK_OK)
        status = lk__result_check(master);
    if (status != LK_OK)
        return status;
    lk__client_lock(client);
    has_group = lk__group_see(client->node->group, &facts);
    lk__client_leave(client);
    if (!has_group)
        return lk__fail(LK_ENOTSUP, "the URL names no sentinels");

    all.name = client->settings.master;
    all.sentinels = facts.total;
    all.answering = facts.heard;
    all.naming = facts.master[0] != '\0' ? facts.named : 0;
    memcpy(all.address, facts.master, sizeof(all.address));
    lk__result_give(master, &all, sizeof(all));
    return LK_OK;
}
