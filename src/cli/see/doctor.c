/* SPDX-License-Identifier: MIT */

/* `latchkey doctor`: what the server is fit for, and what to do about it. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/config.h"
#include "cli/output.h"
#include "cli/rights.h"
#include "cli/see/fleet.h"
#include "cli/see/see.h"
#include "cli/view.h"

struct values {
    const char *name;
    int64_t watch_ms;
    bool acl, fleet;
    const char *prefix, *tenant, *primitive; /* of these rights */
};

static const cli_option options[] = {
    {CLI_TEXT, 0, "name", offsetof(struct values, name), "NAME",
     "take a lock of this name, with the user's rights", 0},
    {CLI_TIME, 0, "watch", offsetof(struct values, watch_ms), "TIME",
     "watch the server's clock for so long; 1", 0},
    {CLI_FLAG, 0, "fleet", offsetof(struct values, fleet), NULL,
     "tell which other hosts use this server", 0},
    {CLI_FLAG, 0, "acl", offsetof(struct values, acl), NULL,
     "print the rights that a program needs", 0},
    {CLI_TEXT, 0, "prefix", offsetof(struct values, prefix), "TEXT",
     "with --acl: to names that begin so", 0},
    {CLI_TEXT, 0, "tenant", offsetof(struct values, tenant), "WORD",
     "with --acl: of clients whose URL says tenant=WORD", 0},
    {CLI_TEXT, 0, "for", offsetof(struct values, primitive), "PRIMITIVE",
     "rights that this one needs, as plain_semaphore", 0},
    {CLI_TEXT, 'n', "name", offsetof(struct values, name), "NAME", NULL, 0},
    {CLI_TIME, 'w', "watch", offsetof(struct values, watch_ms), "TIME", NULL,
     0},
    {.kind = CLI_END},
};

static const char *const words[] = {[LK_CHECK_OK] = "ok",
                                    [LK_CHECK_NOTE] = "note",
                                    [LK_CHECK_WARN] = "warn",
                                    [LK_CHECK_FAIL] = "fail",
                                    [LK_CHECK_UNKNOWN] = "unknown"};
static const cli_style styles[] = {[LK_CHECK_OK] = CLI_GREEN,
                                   [LK_CHECK_NOTE] = CLI_PLAIN,
                                   [LK_CHECK_WARN] = CLI_YELLOW,
                                   [LK_CHECK_FAIL] = CLI_RED,
                                   [LK_CHECK_UNKNOWN] = CLI_YELLOW};

/* What is written, line by line. */
struct report {
    const cli *c;
    cli_json json;
    const char
        *primitive; /* that is meant; NULL: a lock, and what is like it */
    bool is_cluster;
    bool failed;
};

/* A check, as it is told of. */
typedef struct told {
    lk_check check;
    const char *level;
} told;

static const cli_field fields[] = {
    {"id", CLI_UNIT_STRING, offsetof(told, check.id), 1},
    {"level", CLI_UNIT_STRING, offsetof(told, level), 1},
    {"text", CLI_UNIT_STRING, offsetof(told, check.text), 1},
    {"advice", CLI_UNIT_WORDS, offsetof(told, check.advice), 1},
    {.key = NULL},
};

static void put_line(const cli *c, const told *t)
{
    see_page page;
    FILE *to = see_page_begin(&page, c, stdout);

    cli_paint(&page.c, to, styles[t->check.level]);
    (void)fprintf(to, "%-8s",
                  t->check.level == LK_CHECK_FAIL ? "FAIL" : t->level);
    cli_paint(&page.c, to, CLI_PLAIN);
    (void)fprintf(to, "%-12s ", t->check.id);
    cli_put_view(to, "{text}[\n                     do: {advice}]\n", fields,
                 t);
    see_page_end(&page);
}

static void put(struct report *report, const lk_check *check)
{
    const told t = {.check = *check, .level = words[check->level]};

    report->failed |= check->level == LK_CHECK_FAIL;
    if (report->c->json)
        cli_json_record(&report->json, NULL, fields, 1, &t);
    else if (!report->c->quiet ||
             (check->level != LK_CHECK_OK && check->level != LK_CHECK_NOTE))
        put_line(report->c, &t);
}

/* ---- the rights of one primitive ----------------------------------------------- */

/* Reads which command is denied, of a cluster behind the masters that deny it.
   False: none is. */
static bool denied_read(const char *text, char command[32])
{
    const char *end = strstr(text, " is denied");
    const char *at = end;

    while (at != NULL && at > text && *at != '+')
        at--;
    return at != NULL && sscanf(at, "+%31s", command) == 1;
}

/* The library judges by what a lock needs. Returns whether the check is of
   account to the primitive that is meant; what that needs is no mere note. */
static bool is_meant(const struct report *report, lk_check *check)
{
    char command[32];

    if (report->primitive == NULL || strcmp(check->id, "rights") != 0 ||
        !denied_read(check->text, command))
        return true;
    if (cli_rights_need(report->primitive, command, report->is_cluster)) {
        if (check->level == LK_CHECK_NOTE)
            check->level = LK_CHECK_WARN;
        return true;
    }
    return check->level == LK_CHECK_NOTE && cli_rights_help(command);
}

static void put_health(struct report *report, const lk_health *health)
{
    for (size_t i = 0; i < health->count; i++) {
        lk_check check = *health->checks[i];

        if (is_meant(report, &check))
            put(report, &check);
    }
}

/* ---- what the library's own checks do not see ------------------------------------- */

/* A lock of the user's own names: every right that it takes. */
static void try_name(struct report *report, lk_client *client, const char *name)
{
    lk_check check = {.id = "name", .text = "", .advice = ""};
    lk_acquire_options how = {LK_ACQUIRE_OPTIONS_INIT,
                              .reason = "latchkey doctor"};
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_lock_new(&lock, client, name, NULL);

    if (status == LK_OK)
        status = lk_lock_acquire(lock, 0, &how, &hold);
    if (status == LK_OK)
        status = lk_hold_release(hold);
    check.text = cli_error_words();
    if (status == LK_OK) {
        check.text = "a lock was taken and given back";
    } else if (status == LK_EBUSY) {
        check.text = "somebody holds it";
        check.level = LK_CHECK_NOTE;
        check.advice = "try a name that nobody uses";
    } else {
        check.level = LK_CHECK_FAIL;
        check.advice = status == LK_EDENIED
                           ? "share/doc/latchkey/lock.md has the access rules"
                           : lk_status_text(status);
    }
    put(report, &check);
    lk_lock_free(lock);
}

static lk_status put_fleet(struct report *report, lk_client *client)
{
    char text[SEE_FLEET_SIZE];
    lk_check check;
    lk_status status = see_fleet_check(report->c, client, &check, text);

    if (status == LK_OK)
        put(report, &check);
    return status;
}

enum { STEP_US = 50000 };

/* Both clocks go on at the same rate unless one of them is set meanwhile. */
static void put_drift(struct report *report, int64_t drift_us, int64_t span_ms)
{
    char text[160], time[CLI_TIME_SIZE];
    bool stepped = drift_us > STEP_US || drift_us < -STEP_US;
    lk_check check = {.id = "clock-step",
                      .level = stepped ? LK_CHECK_WARN : LK_CHECK_OK,
                      .text = text,
                      .advice = stepped ? "have both clocks slewed, not "
                                          "stepped: the server's stepping "
                                          "forward ends leases early"
                                        : ""};

    (void)snprintf(text, sizeof(text),
                   "the clocks of server and host moved %+.3f s against each "
                   "other in %s",
                   (double)drift_us / 1e6,
                   cli_time_words(time, (uint64_t)span_ms));
    put(report, &check);
}

static lk_status
look(struct report *report, lk_client *client, const struct values *values)
{
    lk_health *first, *second;
    lk_status status = lk_health_check(client, SEE_WAIT_MS, &first);

    if (status != LK_OK)
        return status;
    put_health(report, first);
    if (values->name != NULL)
        try_name(report, client, values->name);
    if (values->fleet)
        status = put_fleet(report, client);
    (void)fflush(stdout);
    if (status == LK_OK)
        cli_pass_ms((uint64_t)values->watch_ms);
    if (status == LK_OK)
        status = lk_health_check(client, SEE_WAIT_MS, &second);
    if (status == LK_OK) {
        put_drift(report, second->clock_ahead_us - first->clock_ahead_us,
                  values->watch_ms);
        lk_health_free(second);
    }
    lk_health_free(first);
    return status;
}

/* What the URL names. 0, or the exit code having complained. */
static int scope_find(const cli *c, cli_scope *scope)
{
    char text[LK_URL_DESCRIPTION_SIZE];
    cli_value url;
    int code = cli_setting_find(c, "url", c->url, &url);

    if (code != 0)
        return code;
    if (lk_url_describe(url.text, text, sizeof(text)) == LK_OK) {
        scope->is_cluster = strstr(text, "+cluster://") != NULL;
        scope->has_sentinels = strstr(text, "+sentinel://") != NULL;
    }
    cli_value_done(&url);
    return 0;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.watch_ms = 1000, .prefix = "", .tenant = ""};
    struct report report = {.c = c, .json = {.to = stdout}};
    cli_scope scope = {.is_cluster = false};
    lk_client *client;
    lk_status status;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    code = scope_find(c, &scope);
    if (code != 0)
        return code;
    scope.prefix = values.prefix;
    scope.tenant = values.tenant;
    report.is_cluster = scope.is_cluster;
    if (values.acl)
        return cli_rights_put(c, &scope, values.primitive);
    if (values.prefix[0] != '\0' || values.tenant[0] != '\0')
        cli_usage(c, "--prefix and --tenant are for --acl");
    if (values.primitive != NULL)
        cli_rights_check(c, values.primitive);
    report.primitive = values.primitive;
    code = see_open(c, &client);
    if (code != 0)
        return code;
    if (c->json) {
        cli_json_open(&report.json, NULL, '{');
        cli_json_open(&report.json, "checks", '[');
    }
    status = look(&report, client, &values);
    lk_client_free(client);
    if (c->json) {
        cli_json_close(&report.json, ']');
        cli_json_bool(&report.json, "failed", report.failed || status != LK_OK);
        cli_json_close(&report.json, '}');
    }
    if (status != LK_OK)
        return cli_fail_call(c, status, "checking the server");
    return report.failed ? CLI_UNAVAILABLE : CLI_OK;
}

const cli_command cli_command_doctor = {
    .name = "doctor",
    .group = CLI_OPERATE,
    .summary = "check whether the server is fit to keep locks",
    .examples = "  latchkey doctor --fleet\n"
                "  latchkey doctor --acl --prefix deploy:    the rights a "
                "program needs",
    .usage = "[OPTION]...",
    .about =
        "Looks at version, eviction, persistence, replication, memory, round\n"
        "trips, clocks and access rules; each line that is not ok says what "
        "to\n"
        "do. --quiet shows only those that may go wrong. The user's rights "
        "are\n"
        "judged by what a lock needs, or what --for says. Of a cluster it "
        "looks\n"
        "at each master. --fleet names the other hosts that use this server,\n"
        "by the locks that they hold now and by a note that each run of\n"
        "--fleet leaves there for a week; it fails on the private server.\n"
        "--acl asks no server: it prints the fewest rights "
        "with\n"
        "which a program can use the library, as rules for ACL SETUSER, of a\n"
        "cluster if the URL names one, and those at the sentinels if it names "
        "them.\n"
        "Exit code 69: something fails.",
    .options = options,
    .run = run,
};
