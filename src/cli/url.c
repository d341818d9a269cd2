/* SPDX-License-Identifier: MIT */

/* `latchkey url`: which server, as it was understood. */

#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/see/see.h"
#include "cli/url_words.h"

/* For people: a program reads the URL alone, `url=$(latchkey url)`. */
static void explain(const cli *c, const char *url)
{
    see_page page;
    FILE *to;

    if (c->quiet || isatty(STDOUT_FILENO) == 0)
        return;
    to = see_page_begin(&page, c, stdout);
    cli_url_words(to, url);
    see_page_end(&page);
}

static int run(cli *c, int argc, char **argv)
{
    char text[LK_URL_DESCRIPTION_SIZE];
    cli_args args;
    lk_status status;
    int code;

    cli_parse(c, argc, argv, NULL, &args);
    if (args.operand_count == 1)
        c->url = args.operands[0];
    code = cli_url(c);
    if (code != 0)
        return code;
    status = lk_url_describe(c->resolved_url, text, sizeof(text));
    if (status != LK_OK)
        return cli_fail_url(c, status,
                            args.operand_count == 1 ? "the command line"
                                                    : c->resolved_from);
    if (c->json) {
        cli_json json = {.to = stdout};

        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "url", text);
        cli_json_text(&json, "from", c->resolved_from);
        cli_json_close(&json, '}');
        cli_json_line(&json);
    } else {
        (void)printf("%s\n", text);
        explain(c, text);
    }
    return CLI_OK;
}

const cli_command cli_command_url = {
    .name = "url",
    .summary = "show which server is used, without the password",
    .usage = "[URL]",
    .about =
        "Shows how a URL is understood: the one given, or the one that\n"
        "every command would use. Talks to nobody. Writes the URL in one\n"
        "spelling; on a terminal also what it means, unless --quiet says not\n"
        "to.\n"
        "\n"
        "  redis://host                     port 6379, database 0\n"
        "  redis://host:6380/2              another port and database\n"
        "  redis://:PASSWORD@host           with a password\n"
        "  redis://USER:PASSWORD@host       with an ACL user\n"
        "  unix:/run/redis.sock?db=2        a unix socket\n"
        "  redis://host?offline_ms=10s      with an option\n"
        "  rediss://host                    with TLS: the server's\n"
        "                                   certificate has to be for host\n"
        "  rediss://host?tls_ca_file=FILE   and from a CA in this file\n"
        "  ...&tls_cert_file=FILE           with a certificate of our own;\n"
        "                                   tls_key_file=FILE has its key\n"
        "  redis+sentinel://s1,s2,s3/NAME   the master NAME, as a majority of\n"
        "                                   these sentinels names it;\n"
        "                                   host:port, and a database behind\n"
        "                                   NAME, /2, where need be\n"
        "  rediss+sentinel://s1,s2,s3/NAME  the same with TLS to all of them\n"
        "  ...?sentinel_user=USER           a user of the sentinels;\n"
        "                                   sentinel_password=PASSWORD\n"
        "  redis+cluster://n1,n2,n3         the cluster of these nodes\n"
        "  rediss+cluster://n1,n2,n3        the same with TLS to all of them\n"
        "  local:                           the private server\n"
        "\n"
        "Where the URL has no password, it is LATCHKEY_PASSWORD's, else that\n"
        "of the file which LATCHKEY_PASSWORD_FILE or the setting\n"
        "`password-file` names, else REDISCLI_AUTH's. A user goes with it:\n"
        "redis://USER:@host. The sentinels' comes from the URL, else from\n"
        "LATCHKEY_SENTINEL_PASSWORD, else from the file which\n"
        "LATCHKEY_SENTINEL_PASSWORD_FILE or `sentinel-password-file` names.\n"
        "\n"
        "share/doc/latchkey/tls.md has the rest of TLS, sentinel.md that of\n"
        "Sentinel, cluster.md that of Redis Cluster.",
    .operands_max = 1,
    .run = run,
};
