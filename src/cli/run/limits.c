/* SPDX-License-Identifier: MIT */

#include "cli/run/limits.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/connect.h"
#include "cli/options.h"

enum { LEASE_MS = 30000, LEAST_MS = 1000, MOST_MS = 86400000 };

bool run_lease_is_good(int64_t lease_ms)
{
    return lease_ms >= LEAST_MS && lease_ms <= MOST_MS;
}

static int refuse(const cli *c, const cli_value *value, const char *key,
                  const char *wanted)
{
    return cli_fail(c, CLI_CONFIG, "%s: the %s is '%s'; it has to be %s",
                    value->from, key, value->text, wanted);
}

/* What a setting says; untouched where nobody says it. 0, or has complained. */
static int time_find(const cli *c, const char *key, int64_t *ms)
{
    const bool is_lease = strcmp(key, "lease") == 0;
    cli_value value;
    int code = cli_setting_find(c, key, NULL, &value);

    if (code != 0)
        return code;
    if (strcmp(value.from, "default") != 0) {
        if (!cli_time_read(value.text, ms))
            code = refuse(c, &value, key,
                          "a time such as 500ms, 2.5s, 1m30s, 0:42 or 1h");
        else if (is_lease && !run_lease_is_good(*ms))
            code = refuse(c, &value, key, "1s to 24h");
    }
    cli_value_done(&value);
    return code;
}

int run_lease_settle(cli *c, int64_t *lease_ms)
{
    int64_t of_url;
    int code = cli_url(c);

    if (code == 0 && *lease_ms == RUN_UNSAID_MS)
        code = time_find(c, "lease", lease_ms);
    if (code != 0 || *lease_ms != RUN_UNSAID_MS)
        return code;
    of_url = cli_url_ms(c, "watchdog_ms");
    if (of_url != 0 && of_url < LEAST_MS)
        return cli_fail(c, CLI_CONFIG,
                        "the URL of %s says watchdog_ms=%" PRId64
                        "ms; a lease of the tool has 1s at least",
                        c->resolved_from, of_url);
    *lease_ms = of_url != 0 ? of_url : LEASE_MS;
    return 0;
}

int run_wait_settle(const cli *c, int64_t *wait_ms)
{
    return *wait_ms == LK_FOREVER ? time_find(c, "wait", wait_ms) : 0;
}
