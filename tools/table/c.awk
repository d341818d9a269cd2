# SPDX-License-Identifier: MIT
#
# Of the tables that read.awk read: <family>_table.h, with the structs of each
# script's arguments and answers and of each packed text, and <family>_table.c,
# with what src/server/shape.c needs to write and to read them.

function member(type_of, name)
{
    if (type_of == "text" || type_of == "rest")
        return "    lk__text " name ";\n"
    if (type_of == "word")
        return "    char " name ";\n"
    if (type_of == "flag")
        return "    bool " name ";\n"
    if (type_of == "list")
        return "    lk__list " name ";\n"
    return "    int64_t " name ";\n"
}

function entry(type_of, within, path, more)
{
    return "    {LK__VALUE_" toupper(type_of) ", offsetof(" within ", " path \
        ")" more "},\n"
}

function count_of(list,    parts)
{
    return split(list, parts, " ")
}

# A table of lk__value; returns its name, or NULL where there are no values.
function write_values(name, entries)
{
    if (entries == "")
        return "NULL"
    printf "static const lk__value %s_values[] = {\n%s};\n\n", name, entries \
        > source
    return name "_values"
}

function write_packed(name,    owner, base, names, n, i, members, entries)
{
    owner = "packed " name
    base = "lk__" name "_text"
    n = split(fields[owner], names, " ")
    for (i = 1; i <= n; i++) {
        members = members member(type[owner, names[i]], names[i])
        entries = entries entry(type[owner, names[i]], base, names[i], \
            ", NULL")
    }
    printf "typedef struct %s {\n%s} %s;\n\nextern const lk__packed " \
        "%s_packed;\n\n", base, members, base, base > header
    printf "const lk__packed %s_packed = {%s, %d, '%s'};\n\n", base, \
        write_values(base, entries), n, comma[owner] ? "," : " " > source
}

# ---- arguments ----

function write_args(base, owner,    names, n, i, kind, members, entries, each)
{
    each = "LK__NOT_GIVEN, LK__NOT_GIVEN"
    n = split(args[owner], names, " ")
    if (!n)
        return
    for (i = 1; i <= n; i++) {
        kind = type[owner, names[i]]
        if (role[owner, names[i]] == "each") {
            members = members "    const lk__text *" names[i] ";\n" \
                "    size_t " names[i] "_count;\n"
            each = "offsetof(" base "_args, " names[i] "), offsetof(" base \
                "_args, " names[i] "_count)"
            continue
        }
        members = members member(kind, names[i])
        if (role[owner, names[i]] == "option")
            members = members "    bool has_" names[i] ";\n"
        entries = entries entry(kind, base "_args", names[i], \
            role[owner, names[i]] != "option" ? ", LK__NOT_GIVEN, \"" \
            letters[owner, names[i]] "\"" : \
            ", offsetof(" base "_args, has_" names[i] "), \"" \
            letters[owner, names[i]] "\"")
    }
    printf "typedef struct %s_args {\n%s} %s_args;\n\nextern const " \
        "lk__args_shape %s_args_shape;\n\n", base, members, base, base > header
    printf "static const lk__arg_value %s_arg_values[] = {\n%s};\n\n", base, \
        entries > source
    printf "const lk__args_shape %s_args_shape = {\n    %s_arg_values, " \
        "sizeof(%s_arg_values) / sizeof(%s_arg_values[0]),\n    %s};\n\n", \
        base, base, base, base, each > source
}

# ---- answers ----

# The struct and the shape of what repeats in a list.
function write_group(name,    at, base, names, n, i, members, entries)
{
    at = "group " name
    base = "lk__" name "_group"
    n = split(values[at], names, " ")
    for (i = 1; i <= n; i++) {
        members = members member(type[at, names[i]], names[i])
        entries = entries entry(type[at, names[i]], base, names[i], ", NULL")
    }
    printf "/* One of a list; see lk__list_get(). */\ntypedef struct %s " \
        "{\n%s} %s;\n\nextern const lk__shape %s_shape;\n\n", base, members, \
        base, base > header
    printf "const lk__shape %s_shape = {%s, %d};\n\n", base, \
        write_values(base, entries), n > source
}

# The values of one answer: its members, and its shape in the list of all.
function answer_members(base, at, name,    names, n, i, kind, members)
{
    n = split(values[at], names, " ")
    shape_entries = ""
    for (i = 1; i <= n; i++) {
        kind = type[at, names[i]]
        members = members "        " substr(member(kind, names[i]), 5)
        shape_entries = shape_entries entry(kind, base "_answer", \
            name "." names[i], kind == "list" ? ", &lk__" \
            group_of[at, names[i]] "_group_shape" : ", NULL")
    }
    return members
}

function write_answers(base, owner,    names, n, i, members, kinds, shapes, one)
{
    n = split(answers[owner], names, " ")
    for (i = 1; i <= n; i++) {
        one = answer_members(base, owner "/" names[i], names[i])
        if (one != "")
            members = members "    struct {\n" one "    } " names[i] ";\n"
        kinds = kinds "    " toupper(base) "_" toupper(names[i]) \
            (i == 1 ? " = 1" : "") ",\n"
        shapes = shapes "    {" write_values(base "_" names[i], \
            shape_entries) ", " count_of(values[owner "/" names[i]]) "},\n"
    }
    printf "typedef enum %s_kind {\n%s} %s_kind;\n\n", base, kinds, base \
        > header
    printf "/* What kind says tells which of the others is set. */\n" \
        "typedef struct %s_answer {\n    int kind;\n%s} %s_answer;\n\n" \
        "extern const lk__answers %s_answers;\n\n", base, members, base, base \
        > header
    printf "static const lk__shape %s_shapes[] = {\n%s};\n\nconst " \
        "lk__answers %s_answers = {%s_shapes, %d};\n\n", base, shapes, base, \
        base, n > source
}

# ---- keys ----

function write_keys(base, owner,    names, n, i, entries, counts)
{
    n = split(forms[owner], names, " ")
    for (i = 1; i <= n; i++)
        counts = counts "    " toupper(base) "_" toupper(names[i]) " = " \
            form_count[owner, names[i]] ",\n"
    if (counts != "")
        printf "/* The forms of a call, each the number of its keys. */\n" \
            "enum {\n%s};\n\n", counts > header
    n = split(keys[owner], names, " ")
    for (i = 1; i <= n; i++)
        entries = entries "    " key_number(names[i], key_form[owner, names[i]]) \
            ",\n"
    printf "static const unsigned char %s_keys[] = {\n%s};\n\n", base, \
        entries > source
}

# What the family calls a key. The same form has the same name in all scripts.
function key_number(name, key)
{
    if (!(name in all_forms)) {
        all_forms[name] = key
        all_keys = all_keys name " "
    } else if (all_forms[name] != key)
        fail("the key '" name "' has two forms")
    return "LK__" toupper(family) "_KEY_" toupper(name)
}

# The keys of all scripts together, in the order in which they are first named.
function write_all_keys(    names, n, i, j, m, one, owner, numbers, entries)
{
    n = split(scripts, names, " ")
    for (i = 1; i <= n; i++) {
        owner = "script " names[i]
        m = split(keys[owner], one, " ")
        for (j = 1; j <= m; j++)
            key_number(one[j], key_form[owner, one[j]])
    }
    n = split(all_keys, names, " ")
    for (i = 1; i <= n; i++) {
        numbers = numbers "    " key_number(names[i], all_forms[names[i]]) ",\n"
        entries = entries "    \"" all_forms[names[i]] "\",\n"
    }
    printf "/* The keys of a name, and their forms; see lk__key_write(). */\n" \
        "enum {\n%s    LK__%s_KEYS\n};\n\nextern const char *const " \
        "lk__%s_keys[LK__%s_KEYS];\n\n", numbers, toupper(family), family, \
        toupper(family) > header
    printf "const char *const lk__%s_keys[LK__%s_KEYS] = {\n%s};\n\n", \
        family, toupper(family), entries > source
}

# A script with all that is needed to call it.
function write_signature(base, owner,    said)
{
    said = owner in said_of ? "lk__any_" said_of[owner] : base
    printf "extern const lk__signature %s;\n\n", base > header
    printf "const lk__signature %s = {\n    &%s_script, %s_keys, %s, " \
        "&%s_answers};\n\n", base, base, base, args[owner] != "" ? "&" base \
        "_args_shape" : "NULL", said > source
}

function write_forms(    names, n, i)
{
    n = split(own_forms, names, " ")
    for (i = 1; i <= n; i++)
        if (!form_is_shared[names[i]])
            printf "#define LK__FORM_%s \"%s\"\n\n", toupper(names[i]), \
                own_form[names[i]] > header
}

function write_c(    names, n, i, base, guard)
{
    header = out "/" family "_table.h"
    source = out "/" family "_table.c"
    guard = "LK_" toupper(family) "_TABLE_H"
    printf "/* Made from lua/%s/%s.table. */\n#ifndef %s\n#define %s\n\n" \
        "#include \"base/script.h\"\n#include \"server/shape.h\"\n\n", family, \
        family, guard, guard > header
    printf "/* Made from lua/%s/%s.table. */\n#include \"%s_table.h\"\n\n", \
        family, family, family > source
    write_forms()
    if (family != "shared")
        printf "#include \"shared_table.h\"\n\n" > header
    n = split(packed, names, " ")
    for (i = 1; i <= n; i++)
        if (!is_shared["packed", names[i]])
            write_packed(names[i])
    n = split(groups, names, " ")
    for (i = 1; i <= n; i++)
        if (!is_shared["group", names[i]])
            write_group(names[i])
    n = split(common, names, " ")
    for (i = 1; i <= n; i++)
        if (!is_shared["answers", names[i]])
            write_answers("lk__any_" names[i], "answers " names[i])
    if (scripts != "")
        write_all_keys()
    n = split(scripts, names, " ")
    for (i = 1; i <= n; i++) {
        base = "lk__" family "_" names[i]
        printf "/* ---- %s ---- */\n\nextern const lk__script %s_script;\n\n", \
            names[i], base > header
        write_keys(base, "script " names[i])
        write_args(base, "script " names[i])
        if (!(("script " names[i]) in said_of))
            write_answers(base, "script " names[i])
        write_signature(base, "script " names[i])
    }
    printf "#endif /* %s */\n", guard > header
}
