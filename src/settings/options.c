/* SPDX-License-Identifier: MIT */

/*
 * What a client can be told. The table below is all there is to know of an
 * option; the rest of the file reads it.
 */

#include "settings/options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "settings/url.h"
#include "world/tls.h"

/* ---- the table ---------------------------------------------------------- */

#define SECOND_MS UINT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

static const lk__choice interops[] = {{"auto", LK_INTEROP_AUTO},
                                      {"redisson", LK_INTEROP_REDISSON},
                                      {NULL, 0}};

static const lk__choice verifies[] = {{"full", LK_TLS_FULL},
                                      {"ca", LK_TLS_CA},
                                      {"none", LK_TLS_NONE},
                                      {NULL, 0}};

static const lk__choice failovers[] = {{"safe", LK_FAILOVER_SAFE},
                                       {"fast", LK_FAILOVER_FAST},
                                       {NULL, 0}};

static const lk__choice log_levels[] = {{"error", LK_LOG_ERROR},
                                        {"warn", LK_LOG_WARN},
                                        {"info", LK_LOG_INFO},
                                        {"debug", LK_LOG_DEBUG},
                                        {NULL, 0}};

#define AT(field) offsetof(lk_client_options, field)

const lk__option lk__options[] = {
    {"name", LK__OPTION_STRING, AT(name), 0, 1, 128, NULL},
    {"user", LK__OPTION_STRING, AT(user), 0, 1, 512, NULL},
    {"password", LK__OPTION_STRING, AT(password), 0, 0, 16384, NULL},
    {"db", LK__OPTION_COUNT, AT(db), 0, 0, INT32_MAX, NULL},
    {"connect_timeout_ms", LK__OPTION_MS, AT(connect_timeout_ms), 2 * SECOND_MS,
     1, DAY_MS, NULL},
    {"command_timeout_ms", LK__OPTION_MS, AT(command_timeout_ms), 2 * SECOND_MS,
     1, DAY_MS, NULL},
    {"offline_ms", LK__OPTION_MS, AT(offline_ms), 5 * SECOND_MS, 1, DAY_MS,
     NULL},
    {"watchdog_ms", LK__OPTION_MS, AT(watchdog_ms), 30 * SECOND_MS, 100, DAY_MS,
     NULL},
    {"fence_keep_ms", LK__OPTION_MS, AT(fence_keep_ms), HOUR_MS, MINUTE_MS,
     7 * DAY_MS, NULL},
    {"max_pending", LK__OPTION_COUNT, AT(max_pending), 100000, 16, 10000000,
     NULL},
    {"interop", LK__OPTION_CHOICE, AT(interop), LK_INTEROP_AUTO,
     LK_INTEROP_AUTO, LK_INTEROP_REDISSON, interops},
    {"dispatch", LK__OPTION_FLAG, AT(dispatch), 0, 0, 1, NULL},
    {"log_level", LK__OPTION_CHOICE, AT(log_level), LK_LOG_WARN, LK_LOG_ERROR,
     LK_LOG_DEBUG, log_levels},
    {"tls_ca_file", LK__OPTION_STRING, AT(tls_ca_file), 0, 1, 4095, NULL},
    {"tls_ca_dir", LK__OPTION_STRING, AT(tls_ca_dir), 0, 1, 4095, NULL},
    {"tls_cert_file", LK__OPTION_STRING, AT(tls_cert_file), 0, 1, 4095, NULL},
    {"tls_key_file", LK__OPTION_STRING, AT(tls_key_file), 0, 1, 4095, NULL},
    {"tls_server_name", LK__OPTION_STRING, AT(tls_server_name), 0, 1, 255,
     NULL},
    {"tls_verify", LK__OPTION_CHOICE, AT(tls_verify), LK_TLS_FULL, LK_TLS_FULL,
     LK_TLS_NONE, verifies},
    {"sentinel_user", LK__OPTION_STRING, AT(sentinel_user), 0, 1, 512, NULL},
    {"sentinel_password", LK__OPTION_STRING, AT(sentinel_password), 0, 0, 16384,
     NULL},
    {"failover", LK__OPTION_CHOICE, AT(failover), LK_FAILOVER_SAFE,
     LK_FAILOVER_SAFE, LK_FAILOVER_FAST, failovers},
    {"tenant", LK__OPTION_STRING, AT(tenant), 0, 1, LK__TENANT_MAX, NULL},
};

#undef AT

const size_t lk__option_count = sizeof(lk__options) / sizeof(lk__options[0]);

/* ---- fields ------------------------------------------------------------- */

static uint64_t
get_number(const lk_client_options *options, const lk__option *option)
{
    uint64_t number;

    memcpy(&number, (const char *)options + option->offset, sizeof(number));
    return number;
}

static void set_number(lk_client_options *options, const lk__option *option,
                       uint64_t number)
{
    memcpy((char *)options + option->offset, &number, sizeof(number));
}

static const char *
get_string(const lk_client_options *options, const lk__option *option)
{
    const char *text;

    memcpy(&text, (const char *)options + option->offset, sizeof(text));
    return text;
}

static void set_string(lk_client_options *options, const lk__option *option,
                       const char *text)
{
    memcpy((char *)options + option->offset, &text, sizeof(text));
}

/* ---- finding an option -------------------------------------------------- */

const lk__option *lk__option_find(const char *key)
{
    for (size_t i = 0; i < lk__option_count; i++) {
        if (strcmp(lk__options[i].key, key) == 0)
            return &lk__options[i];
    }
    return NULL;
}

enum { KEY_MAX = 32 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters have to be put in, taken out or changed to get b from a. */
static size_t distance(const char *a, const char *b)
{
    size_t row[KEY_MAX + 1]; /* distances of a's first i letters to b's all */
    size_t b_size = strlen(b);

    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 1; j <= b_size; j++) {
            size_t above = row[j];

            row[j] = smaller(smaller(above, row[j - 1]) + 1,
                             diagonal + (a[i] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_size];
}

static const char *nearest_key(const char *key)
{
    const char *nearest = lk__options[0].key;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < lk__option_count; i++) {
        size_t d = distance(key, lk__options[i].key);

        if (d < least) {
            least = d;
            nearest = lk__options[i].key;
        }
    }
    return nearest;
}

static lk_status unknown_key(const char *key, lk_status bad)
{
    if (strnlen(key, KEY_MAX + 1) > KEY_MAX)
        return lk__fail(bad, "there is no option with so long a name");
    return lk__fail(bad, "there is no option '%s'; the nearest is '%s'", key,
                    nearest_key(key));
}

/* ---- text to value ------------------------------------------------------ */

/* Reads decimal digits; false: none, or more than 64 bits hold. */
static bool read_digits(const char **text, uint64_t *ret_number)
{
    const char *at = *text;
    uint64_t number = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (at == *text)
        return false;
    *text = at;
    *ret_number = number;
    return true;
}

static bool read_count(const char *text, uint64_t *ret_number)
{
    return read_digits(&text, ret_number) && *text == '\0';
}

static bool
read_choice(const lk__choice *choice, const char *text, uint64_t *ret_number)
{
    for (; choice->word != NULL; choice++) {
        if (strcmp(choice->word, text) == 0) {
            *ret_number = choice->value;
            return true;
        }
    }
    return false;
}

/* Takes a unit, as letters up to the next digit; false: it is none. */
static bool read_unit(const char **text, uint64_t *ret_ms)
{
    static const lk__choice units[] = {{"ms", 1},
                                       {"s", SECOND_MS},
                                       {"m", MINUTE_MS},
                                       {"h", HOUR_MS},
                                       {NULL, 0}};
    const size_t size = strcspn(*text, "0123456789");
    char unit[3];

    if (size >= sizeof(unit))
        return false;
    memcpy(unit, *text, size);
    unit[size] = '\0';
    *text += size;
    return read_choice(units, unit, ret_ms);
}

/* 0:42, 1:02:03: minutes, or hours and minutes, then seconds. */
static bool read_clock(const char *text, uint64_t *ret_ms)
{
    uint64_t s = 0;
    unsigned parts = 1;

    if (!read_digits(&text, &s))
        return false;
    for (; *text == ':'; text += 3, parts++) {
        if (text[1] < '0' || text[1] > '5' || text[2] < '0' || text[2] > '9' ||
            s > UINT64_MAX / SECOND_MS / 60 - 1)
            return false;
        s = s * 60 + (uint64_t)(text[1] - '0') * 10 + (uint64_t)(text[2] - '0');
    }
    *ret_ms = s * SECOND_MS;
    return *text == '\0' && (parts == 2 || parts == 3);
}

/* 500, 500ms, 1m30s: a number alone, or parts of which each has a smaller unit
   than the one before. Or a time as a clock shows it. */
static bool read_ms(const char *text, uint64_t *ret_number)
{
    uint64_t before = UINT64_MAX;
    uint64_t sum = 0;

    if (read_count(text, ret_number) || read_clock(text, ret_number))
        return true;
    do {
        uint64_t number;
        uint64_t unit;

        if (!read_digits(&text, &number) || !read_unit(&text, &unit) ||
            unit >= before || number > (UINT64_MAX - sum) / unit)
            return false;
        sum += number * unit;
        before = unit;
    } while (*text != '\0');
    *ret_number = sum;
    return true;
}

static bool read_flag(const char *text, uint64_t *ret_number)
{
    static const lk__choice words[] = {{"1", 1},  {"true", 1}, {"yes", 1},
                                       {"on", 1}, {"0", 0},    {"false", 0},
                                       {"no", 0}, {"off", 0},  {NULL, 0}};

    return read_choice(words, text, ret_number);
}

static const char *choice_words(const lk__choice *choices)
{
    if (choices == interops)
        return "auto or redisson";
    if (choices == failovers)
        return "safe or fast";
    return choices == verifies ? "full, ca or none"
                               : "error, warn, info or debug";
}

/* Reads a number of any kind and tells in words what it ought to be. */
static bool read_number(const lk__option *option, const char *value,
                        uint64_t *ret_number, const char **ret_wanted)
{
    switch (option->kind) {
    case LK__OPTION_COUNT:
        *ret_wanted = "a number of digits only";
        return read_count(value, ret_number);
    case LK__OPTION_MS:
        *ret_wanted = "a time, for example 500ms, 5s, 1m30s or 1h";
        return read_ms(value, ret_number);
    case LK__OPTION_FLAG:
        *ret_wanted = "a flag: 1, true, yes, on, 0, false, no or off";
        return read_flag(value, ret_number);
    case LK__OPTION_CHOICE:
        *ret_wanted = choice_words(option->choices);
        return read_choice(option->choices, value, ret_number);
    case LK__OPTION_STRING:
        break;
    }
    return false;
}

/* ---- checks ------------------------------------------------------------- */

static lk_status
check_number(const lk__option *option, uint64_t number, lk_status bad)
{
    if (number >= option->min && number <= option->max)
        return LK_OK;
    return lk__fail(bad,
                    "%s is %" PRIu64 "; it has to be %" PRIu64 " to %" PRIu64,
                    option->key, number, option->min, option->max);
}

static bool is_visible(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < '!' || *text > '~')
            return false;
    }
    return true;
}

/* With any other character one tenant's pattern could fit another's channels. */
static bool is_tenant(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] ==
           '\0';
}

/* Never shows the value: it may be the password. */
static lk_status
check_string(const lk__option *option, const char *text, lk_status bad)
{
    size_t size = strnlen(text, option->max + 1);

    if (size < option->min)
        return lk__fail(bad, "%s is empty", option->key);
    if (size > option->max)
        return lk__fail(bad, "%s is longer than %" PRIu64 " bytes", option->key,
                        option->max);
    if (option->offset == offsetof(lk_client_options, name) &&
        !is_visible(text))
        return lk__fail(bad, "name may hold visible ASCII characters only");
    if (option->offset == offsetof(lk_client_options, tenant) &&
        !is_tenant(text))
        return lk__fail(bad, "tenant may hold letters, digits, - _ and . only");
    return LK_OK;
}

/* Checks a field of the caller's struct. Zero, the default, is always right. */
static lk_status
check_field(const lk_client_options *options, const lk__option *option)
{
    if (option->kind == LK__OPTION_STRING) {
        const char *text = get_string(options, option);

        return text == NULL ? LK_OK : check_string(option, text, LK_EINVAL);
    }
    if (get_number(options, option) == 0)
        return LK_OK;
    return check_number(option, get_number(options, option), LK_EINVAL);
}

/* ---- setting by text ---------------------------------------------------- */

lk_status lk__options_set(lk_client_options *options, const char *key,
                          const char *value, lk_status bad)
{
    const lk__option *option = lk__option_find(key);
    const char *wanted = "";
    uint64_t number = 0;
    lk_status status;

    if (option == NULL)
        return unknown_key(key, bad);
    if (value[0] == '\0')
        return lk__fail(bad, "%s has no value", key);
    if (option->kind == LK__OPTION_STRING) {
        status = check_string(option, value, bad);
        if (status == LK_OK)
            set_string(options, option, value);
        return status;
    }
    if (!read_number(option, value, &number, &wanted))
        return lk__fail(bad, "%s is '%.40s'; it has to be %s", key, value,
                        wanted);
    status = check_number(option, number, bad);
    if (status == LK_OK)
        set_number(options, option, number);
    return status;
}

lk_status lk_client_options_set(lk_client_options *options, const char *key,
                                const char *value)
{
    const lk__option *option;
    lk_status status;

    if (options == NULL || key == NULL || value == NULL)
        return lk__fail(LK_EINVAL, "options, key or value is NULL");
    option = lk__option_find(key);
    status = lk__options_size_check(options->size);
    if (status == LK_OK && option != NULL && option->offset >= options->size)
        status =
            lk__fail(LK_EINVAL, "%s is beyond the size of the options", key);
    if (status == LK_OK)
        status = lk__options_set(options, key, value, LK_EINVAL);
    return status;
}

/* ---- TLS ----------------------------------------------------------------- */

bool lk__option_is_tls(const lk__option *option)
{
    return option->offset >= offsetof(lk_client_options, tls_ca_file) &&
           option->offset <= offsetof(lk_client_options, tls_verify);
}

bool lk__option_is_sentinel(const lk__option *option)
{
    return option->offset >= offsetof(lk_client_options, sentinel_user) &&
           option->offset <= offsetof(lk_client_options, failover);
}

lk_status lk__options_check_plain(const lk_client_options *options)
{
    for (size_t i = 0; i < lk__option_count; i++) {
        const lk__option *option = &lk__options[i];

        if (lk__option_is_tls(option) &&
            (option->kind == LK__OPTION_STRING
                 ? get_string(options, option) != NULL
                 : get_number(options, option) != 0))
            return lk__fail(LK_EINVAL,
                            "%s is said, but the URL is without TLS: write "
                            "rediss://",
                            option->key);
    }
    return LK_OK;
}

/* ---- all of them --------------------------------------------------------- */

void lk__options_fill(lk_client_options *options, const lk_client_options *url)
{
    for (size_t i = 0; i < lk__option_count; i++) {
        const lk__option *option = &lk__options[i];

        if (option->kind == LK__OPTION_STRING) {
            if (get_string(options, option) == NULL)
                set_string(options, option, get_string(url, option));
            continue;
        }
        if (get_number(options, option) == 0)
            set_number(options, option, get_number(url, option));
        if (get_number(options, option) == 0)
            set_number(options, option, option->initial);
    }
}

lk_status lk__options_check(const lk_client_options *options)
{
    for (size_t i = 0; i < lk__option_count; i++) {
        lk_status status = check_field(options, &lk__options[i]);

        if (status != LK_OK)
            return status;
    }
    return LK_OK;
}
