/* SPDX-License-Identifier: MIT */
#include "support/tooling.h"

tool_how how;

int tooling_start(void **state)
{
    if (one_server_start(state) != 0)
        return -1;
    how = (tool_how){.url = server_url(redis)};
    return 0;
}

int tooling_stop(void **state)
{
    tool_free_all();
    return one_server_stop(state);
}

int tooling_teardown(void **state)
{
    tool_free_all();
    return one_server_flush(state);
}
