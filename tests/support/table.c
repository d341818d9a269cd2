/* SPDX-License-Identifier: MIT */
#include "support/table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/names.h"
#include "support/check.h"

enum { KEYS = 6, ARGS = 16, FIELD = 400 };

void table_check(const script_fixture *f, const lk__answers *answers)
{
    max_align_t answer[16]; /* more than any has */

    if (f->answer->type != REDIS_REPLY_ERROR)
        assert_int_equal(lk__answer_read(answers, f->answer, answer), LK_OK);
}

/* Takes the next claim where the form is that of a claim's key; *claims NULL: "". */
static void write_key(const char *name, const char *form,
                      const char *const **claims, char key[LK__CLAIM_KEY_SIZE])
{
    if (lk__key_is_of_claim(form))
        lk__key_write_of_claim(key, form, name,
                               *claims != NULL ? *(*claims)++ : "");
    else
        lk__key_write(form, name, key, LK__CLAIM_KEY_SIZE);
}

const char *table_run(script_fixture *f, const lk__signature *signature,
                      const char *const *forms, size_t key_count,
                      const void *args)
{
    return table_run_for(f, signature, forms, key_count, NULL, args);
}

const char *table_run_for(script_fixture *f, const lk__signature *signature,
                          const char *const *forms, size_t key_count,
                          const char *const *claims, const void *args)
{
    static const lk__args_shape none = {NULL, 0, LK__NOT_GIVEN, LK__NOT_GIVEN};
    const lk__args_shape *shape =
        signature->args != NULL ? signature->args : &none;
    char keys[KEYS][LK__CLAIM_KEY_SIZE], numbers[ARGS][24], texts[ARGS][FIELD];
    const char *key_list[KEYS], *arg_list[ARGS + 1] = {NULL};
    lk__arg values[ARGS];
    const char *answer;

    assert_true(lk__args_count(shape, args) <= ARGS && key_count <= KEYS);
    for (size_t i = 0; i < key_count; i++) {
        write_key(f->name, forms[signature->keys[i]], &claims, keys[i]);
        key_list[i] = keys[i];
    }
    lk__args_write(shape, args, values);
    for (size_t i = 0; i < lk__args_count(shape, args); i++) {
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRId64, values[i].number);
        snprintf(texts[i], FIELD, "%.*s", (int)values[i].size,
                 values[i].bytes != NULL ? values[i].bytes : "");
        arg_list[i] = values[i].bytes != NULL ? texts[i] : numbers[i];
    }
    answer =
        script_run_keys(f, signature->script, key_list, key_count, arg_list);
    table_check(f, signature->answers);
    return answer;
}
