/* SPDX-License-Identifier: MIT */

/* The words of each status, and the release they belong to. */

#include <latchkey/status.h>
#include <latchkey/version.h>

#define STRING(x) #x
#define DOTTED(major, minor, patch)                                            \
    STRING(major) "." STRING(minor) "." STRING(patch)

const char *lk_status_text(lk_status status)
{
    switch (status) {
#define X(name, value, retriable, text)                                        \
    case LK_##name:                                                            \
        return text;
        LK_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

const char *lk_status_name(lk_status status)
{
    switch (status) {
#define X(name, value, retriable, text)                                        \
    case LK_##name:                                                            \
        return #name;
        LK_STATUS_MAP(X)
#undef X
    }
    return "UNKNOWN";
}

bool lk_status_is_retriable(lk_status status)
{
    switch (status) {
#define X(name, value, retriable, text)                                        \
    case LK_##name:                                                            \
        return retriable;
        LK_STATUS_MAP(X)
#undef X
    }
    return false;
}

const char *lk_version(void)
{
    return DOTTED(LK_VERSION_MAJOR, LK_VERSION_MINOR, LK_VERSION_PATCH);
}
