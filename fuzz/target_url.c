/* SPDX-License-Identifier: MIT */

/*
 * URLs and options by name: what is understood is understood again when it is
 * described, and a description never tells a password.
 */

#include <latchkey/client.h>

#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "settings/settings.h"
#include "settings/url.h"

static void describe(const char *text)
{
    char description[LK_URL_DESCRIPTION_SIZE], again[LK_URL_DESCRIPTION_SIZE];
    char small[16];

    (void)!lk_url_describe(text, small, sizeof(small));
    if (lk_url_describe(text, description, sizeof(description)) != LK_OK)
        return;
    if (strlen(description) >= sizeof(description))
        input_fail("a description without an end");
    if (lk_url_describe(description, again, sizeof(again)) != LK_OK ||
        strcmp(description, again) != 0)
        input_fail("two descriptions of one URL");
}

static void set_options(char *text, lk_client_options *options)
{
    char *key;

    while ((key = strsep(&text, "\n")) != NULL) {
        char *value = strchr(key, '=');

        if (value == NULL)
            continue;
        *value = '\0';
        (void)!lk_client_options_set(options, key, value + 1);
    }
}

static void make(const char *url, const lk_client_options *options)
{
    lk__settings settings = {.host = NULL};

    if (lk__settings_make(&settings, url, options) == LK_OK &&
        (settings.host != NULL) + (settings.path != NULL) +
                (settings.master != NULL) + (settings.seed_count > 0) !=
            1)
        input_fail("a URL with two addresses, or none");
    if ((settings.master != NULL) != (settings.sentinel_count > 0))
        input_fail("a master without sentinels, or sentinels without one");
    lk__settings_done(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};
    char *lines = input_text(&in);
    char *text = malloc(in.left + 1);

    if (text == NULL)
        input_fail("no memory");
    if (in.left > 0)
        memcpy(text, in.at, in.left);
    text[in.left] = '\0';
    describe(text);
    make(text, NULL);
    set_options(lines, &options);
    make(text, &options);
    free(text);
    free(lines);
    return 0;
}
