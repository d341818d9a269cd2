/* SPDX-License-Identifier: MIT */

/* The tool over TLS: who says which CA, and what it tells of a certificate. */

#include <stdio.h>
#include <string.h>

#include "support/certificates.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

static server *tls_server;
static char url[96];

static int start(NO_STATE)
{
    tls_server = server_start_tls(NULL);
    if (tls_server == NULL)
        return -1;
    /* A handshake takes long where each instruction is looked at. */
    (void)snprintf(url, sizeof(url),
                   "rediss://localhost:%u?connect_timeout_ms=%u",
                   server_tls_port(tls_server), wait_scaled_ms(2000));
    return 0;
}

static int stop(NO_STATE)
{
    server_stop(tls_server);
    return 0;
}

static int end(NO_STATE)
{
    tool_free_all();
    return 0;
}

/* LATCHKEY_TLS_CA_FILE with one of the certificates. */
static const char *ca_variable(char text[192], const char *file)
{
    char path[128];

    (void)snprintf(text, 192, "LATCHKEY_TLS_CA_FILE=%s",
                   certificates_path(path, file));
    return text;
}

/* Its own patience is short, and can't be made longer. */
static bool doctor_tells_of_it(void *how)
{
    tool *t = tool_start(how, "doctor", "-w", "1ms", NULL);
    bool is_told;

    (void)tool_wait(t, 10000);
    is_told = strstr(tool_out(t), "tls          TLSv1.3 with TLS_") != NULL;
    tool_free(t);
    return is_told;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, end)

TEST(the_environment_names_the_ca)
{
    char ca[192];
    const char *env[] = {ca_variable(ca, "ca.crt"), NULL};
    tool_how how = {.url = url, .env = env};

    assert_tool(&how, 0, "x\n", "", "lock", "n", "--", "echo", "x", NULL);
    assert_true(wait_until(doctor_tells_of_it, &how, 20000));
}

TEST(the_url_beats_the_environment)
{
    char ca[192], path[128], longer[256];
    const char *env[] = {ca_variable(ca, "other.crt"), NULL};
    const tool_how how = {.url = longer, .env = env};

    (void)snprintf(longer, sizeof(longer), "%s&tls_ca_file=%s", url,
                   certificates_path(path, "ca.crt"));
    assert_tool(&how, 0, "x\n", "", "lock", "n", "--", "echo", "x", NULL);
}

/* The folder is empty: nobody is trusted, whatever the environment says. */
TEST(a_folder_of_cas_in_the_url_beats_it_as_well)
{
    char ca[192], longer[256];
    scratch *folder = scratch_new();
    const char *env[] = {ca_variable(ca, "ca.crt"), NULL};
    const tool_how how = {.url = longer, .env = env};

    assert_non_null(folder);
    (void)snprintf(longer, sizeof(longer), "%s&tls_ca_dir=%s", url,
                   scratch_path(folder));
    assert_tool(&how, 77, "", "name the CA's file with tls_ca_file", "lock",
                "n", "--", "echo", "x", NULL);
    scratch_free(folder);
}

/* What is called so is no library. */
TEST(an_openssl_that_is_not_found_is_named)
{
    char path[96], variable[96];
    scratch *folder = scratch_new();
    const char *env[] = {variable, NULL};
    const tool_how how = {.url = url, .env = env};
    FILE *file;

    assert_non_null(folder);
    (void)snprintf(path, sizeof(path), "%s/libssl.so.3", scratch_path(folder));
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fclose(file);
    (void)snprintf(variable, sizeof(variable), "LD_LIBRARY_PATH=%s",
                   scratch_path(folder));
    assert_tool(&how, 78, "", "the URL asks for TLS: ", "lock", "n", "--",
                "true", NULL);
    assert_tool(&how, 78, "", "libssl.so.3", "lock", "n", "--", "true", NULL);
    scratch_free(folder);
}

/* client.pem has its key; the environment's is another certificate's. */
TEST(a_certificate_in_the_url_has_its_own_key)
{
    char ca[192], key[192], path[128], longer[256];
    const char *env[] = {ca_variable(ca, "ca.crt"), key, NULL};
    const tool_how how = {.url = longer, .env = env};

    (void)snprintf(key, sizeof(key), "LATCHKEY_TLS_KEY_FILE=%s",
                   certificates_path(path, "other.key"));
    (void)snprintf(longer, sizeof(longer), "%s&tls_cert_file=%s", url,
                   certificates_path(path, "client.pem"));
    assert_tool(&how, 0, "x\n", "", "lock", "n", "--", "echo", "x", NULL);
}

TEST(a_url_without_tls_has_no_use_for_it)
{
    char ca[192], plain[128];
    const char *env[] = {ca_variable(ca, "ca.crt"), NULL};
    const tool_how how = {.url = plain, .env = env};

    (void)snprintf(plain, sizeof(plain), "unix:%s", server_socket(tls_server));
    assert_tool(&how, 0, "x\n", "", "lock", "n", "--", "echo", "x", NULL);
}

TEST(what_is_not_believed_is_told_with_what_to_do)
{
    char ca[192];
    const char *env[] = {ca_variable(ca, "other.crt"), NULL};
    const char *none[] = {"LATCHKEY_TLS_CA_FILE=/dev/null/ca", NULL};
    const tool_how how = {.url = url, .env = env};
    const tool_how missing = {.url = url, .env = none};

    assert_tool(&how, 77, "", "name the CA's file with tls_ca_file", "lock",
                "n", "--", "echo", "x", NULL);
    assert_tool(&how, 77, "", "share/doc/latchkey/tls.md", "lock", "n", "--",
                "echo", "x", NULL);
    assert_tool(&missing, 78, "", "/dev/null/ca: Not a directory", "lock", "n",
                "--", "echo", "x", NULL);
}

TEST(a_plain_port_is_told_from_a_server_that_is_away)
{
    server *plain = server_start_tcp(NULL);
    char there[128];
    const tool_how how = {.url = there};

    assert_non_null(plain);
    (void)snprintf(there, sizeof(there), "rediss://127.0.0.1:%u",
                   (unsigned)server_port(plain));
    assert_tool(&how, 69, "", "the TLS handshake is not answered", "ls", NULL);
    assert_tool(&how, 69, "",
                "write redis:// in the place of rediss://, or give the server "
                "TLS",
                "ls", NULL);
    server_stop(plain);
}

int test_tls(void)
{
    if (server_lacks_tls())
        return SERVER_LACKS;
    return check_all(start, stop);
}
