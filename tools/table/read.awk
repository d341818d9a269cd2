# SPDX-License-Identifier: MIT
#
# Reads lua/<family>/<family>.table, the only place that says what a script of
# that family gets and answers. A line is a word and its values; `#` begins a
# comment. c.awk and lua.awk make C's side and the scripts of it:
#
#   awk -v family=lock -v lua=lua -v out=DIR -f read.awk -f c.awk -f lua.awk \
#       lua/shared/shared.table lua/lock/lock.table
#
# The packed texts of the table lua/shared/shared.table are there for all
# families; C's side of them is made once, for the family "shared".
#
#   packed <name> [comma]       a text of fields, with blanks or commas between
#     field <name> <type>       text, number, signed, or, as the last one, rest
#     include <name>            the fields of an earlier one, as the last ones
#   end
#   group <name> <field>:<type>...   number, signed, flag, text: what repeats in a
#                               list; lk__<name>_group in C, group.<name>() in Lua
#   form <name> <text>          a text that more than one place needs, for keys,
#                               channels or records: LK__FORM_<NAME> in C,
#                               form.<name> in Lua; rights.awk knows it by its name
#   answers <name>              answers that several scripts have in common, each of
#     answer, list              which says `answers <name>` instead of its own; in C they
#   end                         are lk__any_<name>_answer
#   script <name>
#     key <name> <form>         N, :<letter>, or Redisson's: a prefix, or what
#                               stands behind {N}, or <claim> and what stands
#                               behind it in a claim's key, or a prefix and N:
#                               `lock:*`
#     keys <name> <form>        one for each thing that the call is about; several
#                               come in turn, and there are no others
#     form <name> <key>         the keys up to this one; a script tells its forms
#                               apart by their number
#     arg <name> <type>         text, number, signed, or word and its letters
#     option <name> <type>      behind the args; may be missing at the end
#     each <name> <type>        all that follow
#     answer <name> <field>:<type>...   number, signed, flag, text, list
#     list <answer> <field> <group>   what such a list is made of
#   end
#
# Lists are kept as texts with a blank behind each element.

function fail(words)
{
    if (!failed)
        print where ": " words > "/dev/stderr"
    failed = 1
    exit 1
}

function has(list, name)
{
    return index(" " list, " " name " ") > 0
}

function add(list, name, what)
{
    if (name !~ /^[a-z][a-z0-9_]*$/)
        fail("'" name "' is no name of a " what)
    if (has(list, name))
        fail("the " what " '" name "' is there twice")
    return list name " "
}

function want(count)
{
    if (NF != count)
        fail("'" $1 "' takes " count - 1 " values, not " NF - 1)
}

function want_type(type, allowed)
{
    if (!has(allowed, type))
        fail("'" type "' is none of the types " allowed)
}

# ---- lines of a packed text ----

function read_field()
{
    want(3)
    want_type($3, "text number signed rest ")
    if (rested)
        fail("nothing comes behind a rest")
    rested = $3 == "rest"
    fields[owner] = add(fields[owner], $2, "field")
    type[owner, $2] = $3
}

function read_include(    names, n, i, from)
{
    want(2)
    from = "packed " $2
    if (fields[from] == "")
        fail("there is no packed text '" $2 "' yet")
    if (rested)
        fail("nothing comes behind a rest")
    included[owner] = $2
    rested = 1
    n = split(fields[from], names, " ")
    for (i = 1; i <= n; i++) {
        fields[owner] = add(fields[owner], names[i], "field")
        type[owner, names[i]] = type[from, names[i]]
    }
}

# ---- lines of a script ----

function read_key()
{
    want(3)
    if ($3 !~ /^(N|:[a-z]|[{]N[}]:[a-z]+|[a-z][a-z_]*|<claim>(:[a-z0-9_]+)+)$/ \
        && $3 !~ /^([a-z][a-z-]*:[*]|latchkey:[a-z-]+)$/)
        fail("'" $3 "' is no form of a key")
    if (keys[owner] != "" && repeats[owner] != ($1 == "keys"))
        fail("no 'key' stands beside 'keys'")
    repeats[owner] = $1 == "keys"
    keys[owner] = add(keys[owner], $2, "key")
    key_form[owner, $2] = $3
}

# The place of a name in a list, from 1; 0: it is not there.
function place(list, name,    names, n, i)
{
    n = split(list, names, " ")
    for (i = 1; i <= n; i++)
        if (names[i] == name)
            return i
    return 0
}

function read_form(    count)
{
    want(3)
    count = place(keys[owner], $3)
    if (!count)
        fail("the form '" $2 "' ends with the unknown key '" $3 "'")
    if ((owner, count) in form_of)
        fail("two forms have " count " keys")
    form_of[owner, count] = $2
    forms[owner] = add(forms[owner], $2, "form")
    form_count[owner, $2] = count
}

# Arguments come in the order arg, option, each.
function read_arg(    i)
{
    want_type($3, "text number signed word ")
    if ($3 == "word" && NF < 5 || $3 != "word" && NF != 3)
        fail("a word has two letters at least, and nothing else has any")
    if (stage == "each" || $1 == "arg" && stage == "option")
        fail("'" $1 "' may not come behind '" stage "'")
    stage = $1
    args[owner] = add(args[owner], $2, "argument")
    type[owner, $2] = $3
    role[owner, $2] = $1
    for (i = 4; i <= NF; i++) {
        if (length($i) != 1)
            fail("'" $i "' is no letter")
        letters[owner, $2] = letters[owner, $2] $i
    }
}

function read_values(at, first, allowed,    i, part)
{
    for (i = first; i <= NF; i++) {
        if (split($i, part, ":") != 2)
            fail("'" $i "' is no <name>:<type>")
        want_type(part[2], allowed)
        values[at] = add(values[at], part[1], "value")
        type[at, part[1]] = part[2]
    }
}

# All that the answers of that name are become the script's.
function read_answers(    from, names, n, i, lists, m, j, at)
{
    want(2)
    from = "answers " $2
    if (answers[from] == "")
        fail("there are no answers '" $2 "' yet")
    if (answers[owner] != "")
        fail("a script has its own answers or those of others")
    said_of[owner] = $2
    answers[owner] = answers[from]
    n = split(answers[from], names, " ")
    for (i = 1; i <= n; i++) {
        at = "/" names[i]
        values[owner at] = values[from at]
        m = split(values[from at], lists, " ")
        for (j = 1; j <= m; j++) {
            type[owner at, lists[j]] = type[from at, lists[j]]
            if ((from at, lists[j]) in group_of)
                group_of[owner at, lists[j]] = group_of[from at, lists[j]]
        }
    }
}

function read_answer()
{
    if (owner in said_of)
        fail("a script has its own answers or those of others")
    answers[owner] = add(answers[owner], $2, "answer")
    read_values(owner "/" $2, 3, "number signed flag text list ")
}

function read_list()
{
    if (type[owner "/" $2, $3] != "list")
        fail("'" $2 "' has no list '" $3 "'")
    want(4)
    if (!has(groups, $4))
        fail("there is no group '" $4 "' yet")
    group_of[owner "/" $2, $3] = $4
}

# ---- beginning and end ----

function begin()
{
    rested = 0
    stage = ""
    if ($1 == "form" && NF == 3) {
        own_forms = add(own_forms, $2, "form")
        own_form[$2] = $3
        form_is_shared[$2] = family != "shared" && FILENAME ~ /\/shared\.table$/
        return
    }
    if ($1 == "group") {
        groups = add(groups, $2, "group")
        read_values("group " $2, 3, "number signed flag text ")
        if (values["group " $2] == "")
            fail("the group '" $2 "' has no values")
        is_shared[$1, $2] = family != "shared" && FILENAME ~ /\/shared\.table$/
        return
    }
    if ($1 == "packed" && (NF == 2 || NF == 3 && $3 == "comma")) {
        packed = add(packed, $2, "packed text")
        is_shared[$1, $2] = family != "shared" && FILENAME ~ /\/shared\.table$/
        comma["packed " $2] = NF == 3
    } else if ($1 == "answers" && NF == 2) {
        common = add(common, $2, "set of answers")
        is_shared[$1, $2] = family != "shared" && FILENAME ~ /\/shared\.table$/
    } else if ($1 == "script" && NF == 2) {
        scripts = add(scripts, $2, "script")
    } else {
        fail("'" $0 "' begins nothing")
    }
    owner = $1 " " $2
}

# A list's values are said.
function check_lists(    names, n, i, parts, m, j, at)
{
    n = split(answers[owner], names, " ")
    for (i = 1; i <= n; i++) {
        at = owner "/" names[i]
        m = split(values[at], parts, " ")
        for (j = 1; j <= m; j++)
            if (type[at, parts[j]] == "list" &&
                !((at, parts[j]) in group_of))
                fail("nothing says what is in the list '" parts[j] "'")
    }
}

function end(    names)
{
    if (owner ~ /^packed/ && fields[owner] == "")
        fail("no fields")
    if (owner ~ /^answers/)
        check_lists()
    if (owner ~ /^script/) {
        if (keys[owner] == "" || answers[owner] == "" ||
            forms[owner] == "" && !repeats[owner])
            fail("a script has keys, forms and answers")
        if (!repeats[owner] &&
            !((owner, split(keys[owner], names, " ")) in form_of))
            fail("no form has the last key")
        check_lists()
    }
    owner = ""
}

{
    where = FILENAME ":" FNR
    sub(/#.*/, "")
}

!NF { next }

owner == "" { begin(); next }
$1 == "end" && NF == 1 { end(); next }
owner ~ /^packed/ && $1 == "field" { read_field(); next }
owner ~ /^packed/ && $1 == "include" { read_include(); next }
owner ~ /^script/ && ($1 == "key" || $1 == "keys") { read_key(); next }
owner ~ /^script/ && $1 == "form" { read_form(); next }
owner ~ /^script/ && $1 ~ /^(arg|option|each)$/ { read_arg(); next }
owner ~ /^script/ && $1 == "answers" { read_answers(); next }
owner !~ /^packed/ && $1 == "answer" { read_answer(); next }
owner !~ /^packed/ && $1 == "list" { read_list(); next }
{ fail("'" $1 "' is no word of '" owner "'") }

END {
    if (failed)
        exit 1
    if (owner != "")
        fail("'" owner "' has no end")
    write_c()
    write_scripts()
}
