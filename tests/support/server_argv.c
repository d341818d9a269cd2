/* SPDX-License-Identifier: MIT */
#include "support/server_argv.h"

#include <stdlib.h>

#include "support/login.h"

/* Appends a list that ends with NULL. False: it does not fit. */
static bool argv_add(const char **argv, size_t *n, const char *const *more)
{
    for (; *more != NULL; more++) {
        if (*n == SERVER_ARGS)
            return false;
        argv[(*n)++] = *more;
    }
    return true;
}

static const char *program(void)
{
    const char *other = getenv("LK_TEST_SERVER");

    return other != NULL ? other : REDIS_SERVER;
}

static bool argv_add_node(const server *s, const char **argv, size_t *n)
{
    static const char *const node[] = {"--cluster-enabled", "yes", NULL};
    static const char *const tls[] = {"--tls-cluster", "yes",
                                      "--tls-replication", "yes", NULL};

    if (!s->is_node)
        return true;
    return argv_add(argv, n, node) &&
           (s->tls_port == 0 || argv_add(argv, n, tls));
}

static bool argv_add_tls(const server *s, const char **argv, size_t *n)
{
    const char *const tls[] = {"--tls-port",
                               s->tls_port_text,
                               "--tls-cert-file",
                               s->tls_cert,
                               "--tls-key-file",
                               s->tls_key,
                               "--tls-ca-cert-file",
                               s->tls_ca,
                               "--tls-auth-clients",
                               "no",
                               NULL};

    return s->tls_port == 0 || argv_add(argv, n, tls);
}

static bool argv_make_sentinel(const server *s, const char **argv)
{
    const char *const fixed[] = {program(),
                                 s->config,
                                 "--sentinel",
                                 "--port",
                                 s->port_text,
                                 "--bind",
                                 "127.0.0.1",
                                 "--unixsocket",
                                 s->socket,
                                 "--dir",
                                 scratch_path(s->home),
                                 "--logfile",
                                 s->log,
                                 "--daemonize",
                                 "no",
                                 NULL};
    const char *const inside[] = {"--tls-replication", "yes", NULL};
    size_t n = 0;
    bool fits = argv_add(argv, &n, fixed) && argv_add_tls(s, argv, &n);

    if (s->tls_port != 0)
        fits = fits && argv_add(argv, &n, inside);
    argv[n] = NULL;
    return fits;
}

static bool argv_make_server(const server *s, const char **argv)
{
    const char *const fixed[] = {program(),
                                 "--port",
                                 s->port_text,
                                 "--bind",
                                 "127.0.0.1",
                                 "--unixsocket",
                                 s->socket,
                                 "--unixsocketperm",
                                 "700",
                                 "--dir",
                                 scratch_path(s->home),
                                 "--logfile",
                                 s->log,
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--maxmemory-policy",
                                 "noeviction",
                                 "--daemonize",
                                 "no",
                                 NULL};
    size_t n = 0;
    bool fits = argv_add(argv, &n, fixed) && argv_add_tls(s, argv, &n) &&
                argv_add(argv, &n, login_arguments()) &&
                argv_add_node(s, argv, &n);

    fits = fits && argv_add(argv, &n, (const char *const *)s->extra);
    argv[n] = NULL;
    return fits;
}

bool server_argv_make(const server *s, const char **argv)
{
    return s->config[0] != '\0' ? argv_make_sentinel(s, argv)
                                : argv_make_server(s, argv);
}
