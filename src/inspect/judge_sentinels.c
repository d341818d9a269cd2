/* SPDX-License-Identifier: MIT */

/* What the sentinels say of the master and of each other, and what that means. */

#include <inttypes.h>

#include "inspect/judge.h"

static void judge_named(lk__report *report, const lk__group_facts *group)
{
    if (group->named == group->total)
        lk__report_add(report, "sentinel", LK_CHECK_OK, "",
                       "all %zu sentinels name %s as the master", group->total,
                       group->master);
    else
        lk__report_add(
            report, "sentinel",
            group->named * 2 > group->total ? LK_CHECK_WARN : LK_CHECK_FAIL,
            "see to the others, and list all of them in the URL: where fewer "
            "than a majority name the master, nothing can be held",
            "%zu of %zu sentinels name %s as the master", group->named,
            group->total, group->master[0] != '\0' ? group->master : "nobody");
}

/* One that lacks others cannot have them agree to a failover of its own. One that
   knows others that are gone waits for a majority of more than there are. */
static void judge_views(lk__report *report, const lk__group_facts *group)
{
    static const char lacks[] =
        "have it and the others monitor the same master and reach each other: "
        "SENTINEL SENTINELS <master> there shows whom it knows. Without them "
        "it "
        "may find no majority for a failover. Or the URL names one twice";
    static const char has_more[] =
        "name all of them in the URL. One that is gone for good counts for the "
        "majority all the same: SENTINEL RESET <master> there has it forgotten";

    for (size_t i = 0; i < group->listed; i++) {
        const lk__group_view *view = &group->views[i];

        if (view->tells_others && view->others + 1 != group->listed)
            lk__report_add(report, "sentinel", LK_CHECK_WARN,
                           view->others < group->listed ? lacks : has_more,
                           "the sentinel %s knows %" PRIu64
                           " other%s, and the URL names %zu beside it",
                           view->address, view->others,
                           view->others == 1 ? "" : "s", group->listed - 1);
    }
}

void lk__judge_sentinels(lk__report *report, const lk__facts *facts)
{
    if (!facts->has_group)
        return;
    judge_named(report, &facts->group);
    judge_views(report, &facts->group);
    if (facts->group.is_fast)
        lk__judge_fast(report);
}
