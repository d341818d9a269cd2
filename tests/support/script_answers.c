/* SPDX-License-Identifier: MIT */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

long long script_pttl(script_fixture *f, const char *key)
{
    return script_number(f, "PTTL %s", key);
}

long long script_key_pttl(script_fixture *f, int key)
{
    return script_pttl(f, f->keys[key]);
}

long long script_commands_called(script_fixture *f)
{
    const char *line = script_redis(f, "INFO commandstats");
    long long sum = 0;

    while ((line = strstr(line, "cmdstat_")) != NULL) {
        const char *calls = strstr(line, ":calls=");

        assert_non_null(calls);
        if (strncmp(line, "cmdstat_eval:", 13) != 0 &&
            strncmp(line, "cmdstat_config", 14) != 0)
            sum += strtoll(calls + strlen(":calls="), NULL, 10);
        line = calls;
    }
    return sum;
}

void script_assert_like(const char *text, const char *pattern, const char *file,
                        int line)
{
    if (fnmatch(pattern, text, 0) == 0)
        return;
    print_error("\"%s\"\n  is not like \"%s\"\n", text, pattern);
    _fail(file, line);
}
