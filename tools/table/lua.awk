# SPDX-License-Identifier: MIT
#
# Makes <family>_<script>.lua, what the server gets to see, of each script of
# the tables that read.awk read: its names for keys, arguments and answers, the
# fragments that it needs, in their order, and lua/<family>/<script>.lua itself.
#
# A line `-- needs: a b` names fragments, files of lua/shared/ and lua/<family>/.
# What is said of packed texts is put in, see below. A line `-- rest` divides a script: what
# stands behind it, and the fragments that only this needs, is not made before it
# is reached: making the functions of a script costs more than a command.
#
# The table and the text are held against each other: see check_names(),
# check_answers() and check_fragment().

# ---- packed texts ----
#
# Of a packed text `record` a script may say:
#
#   record.read(text)        a table of its fields, which are texts; nil: it is
#                            no such text
#   record.write(it)         the text of such a table
#   record.write({a = ...})  the same where all fields are said here, those of a
#                            text that it includes by that one's name
#   record.only(text, a, c)  the values of some fields, in the table's order
#
# The last two are put in place: they cost no call and no table, and a field that
# is unknown, missing or out of order is an error here. So are, of the group `lost`:
#
#   group.lost({a = ...})    its values, one behind the other, in the table's order
#   #group.lost              how many these are

function pattern(kind, separator, takes,    text)
{
    if (kind == "number")
        text = "%d+"
    else if (kind == "signed")
        text = "%-?%d+"
    else if (kind == "rest")
        text = ".*"
    else
        text = separator == "," ? "[^,]+" : "%S+"
    return takes ? "(" text ")" : text
}

# The pattern of the fields of a list that wanted has, up to the last of these;
# wanted "": all.
function match_of(owner, wanted,    separator, names, n, i, text, left)
{
    separator = comma[owner] ? "," : " "
    n = split(fields[owner], names, " ")
    left = wanted == "" ? n : count_of(wanted)
    for (i = 1; i <= n && left; i++) {
        takes = wanted == "" || has(wanted, names[i])
        left -= takes
        text = text (i > 1 ? separator : "") \
            pattern(type[owner, names[i]], separator, takes)
    }
    return "'^" text (i > n ? "$" : separator) "'"
}

# The library of a packed text, with what text uses of it.
function packed_text(name, text,    owner, separator, names, n, i, list, made, \
                     joined, library)
{
    owner = "packed " name
    separator = comma[owner] ? "," : " "
    n = split(fields[owner], names, " ")
    for (i = 1; i <= n; i++) {
        list = list (i > 1 ? ", " : "") names[i]
        made = made (i > 1 ? ", " : "") names[i] " = " names[i]
        joined = joined (i > 1 ? " .. '" separator "' .. " : "") "it." names[i]
    }
    if (index(text, name ".read("))
        library = "function " name ".read(text)\nlocal " list \
            " = string.match(text, " match_of(owner, "") ")\nreturn " names[1] \
            " and {" made "}\nend\n"
    if (index(text, name ".write("))
        library = library "function " name ".write(it)\nreturn " joined \
            "\nend\n"
    return library != "" ? "local " name " = {}\n" library : ""
}

# What stands between the bracket at the begin of text and its partner.
function inside_of(text,    i, depth, c)
{
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(" || c == "{") - (c == ")" || c == "}")
        if (!depth)
            return substr(text, 2, i - 2)
    }
    fail("a bracket has no partner")
}

# Splits at the commas that are in no brackets.
function split_list(text, parts,    i, depth, c, n)
{
    n = 1
    parts[1] = ""
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(" || c == "{") - (c == ")" || c == "}")
        if (c == "," && !depth)
            parts[++n] = ""
        else
            parts[n] = parts[n] c
    }
    return n
}

function trim(text)
{
    gsub(/^[ \t\n]+|[ \t\n]+$/, "", text)
    return text
}

# Reads { field = value, ... } into value; each field is one of the list.
function read_fields(name, said, list, value,    parts, n, i, at, field)
{
    n = split_list(said, parts)
    for (i = 1; i <= n; i++) {
        at = index(parts[i], "=")
        field = trim(substr(parts[i], 1, at - 1))
        if (!has(list, field))
            fail("'" name "' has no field '" field "'")
        value[field] = trim(substr(parts[i], at + 1))
    }
}

# The text of { field = value, ... }, all fields in their order.
function joined_of(name, said,    owner, n, i, value, names, text)
{
    owner = "packed " name
    read_fields(name, said, fields[owner] included[owner] " ", value)
    # A text that is included stands for its fields.
    said = fields[owner]
    if (included[owner] in value)
        said = substr(said, 1, length(said) - \
            length(fields["packed " included[owner]])) included[owner]
    n = split(said, names, " ")
    for (i = 1; i <= n; i++) {
        if (!(names[i] in value))
            fail("'" name "' is written without '" names[i] "'")
        text = text (i > 1 ? " .. '" (comma[owner] ? "," : " ") "' .. " : "") \
            (value[names[i]] ~ / / ? "(" value[names[i]] ")" : value[names[i]])
    }
    return "(" text ")"
}

# The values of { field = value, ... }, all of a group's in their order.
function values_of(name, said,    n, i, value, names, text)
{
    read_fields(name, said, values["group " name], value)
    n = split(values["group " name], names, " ")
    for (i = 1; i <= n; i++) {
        if (!(names[i] in value))
            fail("'" name "' is written without '" names[i] "'")
        text = text (i > 1 ? ", " : "") value[names[i]]
    }
    return text
}

function match_call(name, said,    owner, parts, n, i, wanted, last)
{
    owner = "packed " name
    n = split_list(said, parts)
    for (i = 2; i <= n; i++) {
        parts[i] = trim(parts[i])
        if (place(fields[owner], parts[i]) <= last)
            fail("'" parts[i] "' is no field of '" name "', or out of order")
        last = place(fields[owner], parts[i])
        wanted = wanted parts[i] " "
    }
    return "string.match(" parts[1] ", " match_of(owner, wanted) ")"
}

# What form.<name> is: a form of the tables, or what stands behind `<claim>` in the
# form of a claim's key, without the number at its end.
function form_text(name,    names, n, i, form)
{
    if (name in own_form)
        return own_form[name]
    n = split(scripts, names, " ")
    for (i = 1; i <= n; i++) {
        form = key_form["script " names[i], name]
        if (sub(/^<claim>/, "", form)) {
            sub(/[0-9]+$/, "", form)
            return form
        }
    }
    fail("there is no form '" name "'")
}

function put_forms(text,    made, name)
{
    if (match(text, /'((latchkey|redisson)[^']*|2[a-z-])'/))
        fail(substr(text, RSTART, RLENGTH) " is said beside the tables")
    while (match(text, /[^a-z_.]form[.][a-z_]+/)) {
        name = substr(text, RSTART + 6, RLENGTH - 6)
        made = made substr(text, 1, RSTART) "'" form_text(name) "'"
        text = substr(text, RSTART + RLENGTH)
    }
    return made text
}

# Notes in used_groups which there are.
function put_groups(text,    names, n, i, at, said, call)
{
    n = split(groups, names, " ")
    for (i = 1; i <= n; i++) {
        gsub("#group[.]" names[i], count_of(values["group " names[i]]), text)
        call = "group." names[i] "({"
        while ((at = index(text, call))) {
            used_groups = used_groups names[i] " "
            said = inside_of(substr(text, at + length(call) - 1))
            text = substr(text, 1, at - 1) values_of(names[i], said) \
                substr(text, at + length(call) + length(said) + 2)
        }
    }
    return text
}

# Puts in place what is said of forms, of groups and of the packed texts.
function put_in_place(text,    names, n, i, at, said, call)
{
    text = put_groups(put_forms(text))
    n = split(packed, names, " ")
    for (i = 1; i <= n; i++) {
        call = names[i] ".write({"
        while ((at = index(text, call))) {
            said = inside_of(substr(text, at + length(call) - 1))
            text = substr(text, 1, at - 1) joined_of(names[i], said) \
                substr(text, at + length(call) + length(said) + 2)
        }
        call = names[i] ".only("
        while ((at = index(text, call))) {
            said = inside_of(substr(text, at + length(call) - 1))
            text = substr(text, 1, at - 1) match_call(names[i], said) \
                substr(text, at + length(call) + length(said) + 1)
        }
    }
    return text
}

# The libraries of the packed texts that text uses and that were not made yet.
function libraries(text,    names, n, i, one, all)
{
    n = split(packed, names, " ")
    for (i = 1; i <= n; i++) {
        one = has(made_ones, names[i]) ? "" : packed_text(names[i], text)
        if (one != "")
            made_ones = made_ones names[i] " "
        all = all one
    }
    return all
}

# ---- files ----

# The text of a file without what only a reader needs. Sets needs_first and
# needs_rest, the fragments that its two parts name, and rest_at.
function read_lua(path,    line, text, rest)
{
    needs_first = needs_rest = ""
    first_part = rest_part = ""
    while ((getline line < path) > 0) {
        if (line ~ /--\[=*\[/) {
            where = path
            fail("no long comments, they are not stripped")
        } else if (line "\n" == REST) {
            rest = 1
        } else if (line ~ /^-- needs: /) {
            line = substr(line, 11) " "
            if (rest)
                needs_rest = needs_rest line
            else
                needs_first = needs_first line
        } else if (line !~ /^[ \t]*(--.*)?$/) {
            if (rest)
                rest_part = rest_part line "\n"
            else
                first_part = first_part line "\n"
        }
    }
    close(path)
    return first_part != "" || rest_part != ""
}

function exists(path,    line, found)
{
    found = (getline line < path) > 0
    close(path)
    return found
}

function fragment_path(name)
{
    if (exists(lua "/" family "/" name ".lua") && !has(scripts, name))
        return lua "/" family "/" name ".lua"
    if (exists(lua "/shared/" name ".lua"))
        return lua "/shared/" name ".lua"
    return ""
}

# A fragment only defines: at its top level stand local tables and functions,
# numbers and texts. So it neither returns nor reads nor writes by itself.
function check_fragment(path, text,    lines, n, i, inside)
{
    where = path
    n = split(text, lines, "\n")
    for (i = 1; i < n; i++) {
        if (lines[i] ~ /^(local )?function /)
            inside = 1
        else if (lines[i] == "end")
            inside = 0
        else if (!inside && lines[i] !~ \
                 /^local [A-Za-z_]+(, [A-Za-z_]+)*( = [A-Z0-9a-z{}'_., -]+)?$/ \
                 && lines[i] !~ \
                 /^[a-z]+\.[A-Z]+(, [a-z]+\.[A-Z]+)* = [A-Z0-9, ]+$/)
            fail("'" lines[i] "' does more than define")
        if (!inside && lines[i] ~ /redis/)
            fail("'" lines[i] "' asks the server")
    }
}

# Adds the fragments of a list of names, each behind those that it needs, to
# gathered; done holds those that are there.
function gather(list,    names, n, i, path, text, needs)
{
    n = split(list, names, " ")
    for (i = 1; i <= n; i++) {
        if (has(done, names[i]))
            continue
        if (has(open_ones, names[i]))
            fail("'" names[i] "' needs itself, by way of " open_ones)
        open_ones = open_ones names[i] " "
        path = fragment_path(names[i])
        if (path == "")
            fail("there is no fragment '" names[i] "'")
        read_lua(path)
        text = first_part
        needs = needs_first
        if (rest_part != "")
            fail("only a script has a rest")
        check_fragment(path, text)
        gather(needs)
        gathered = gathered text
        done = done names[i] " "
        sub(" " names[i] " $", " ", open_ones)
    }
}

# ---- names ----

# local <a>_key, ... = KEYS[1], ...
function locals(list, suffix, array,    names, n, i, left, right)
{
    n = split(list, names, " ")
    for (i = 1; i <= n; i++) {
        left = left (i > 1 ? ", " : "") names[i] suffix
        right = right (i > 1 ? ", " : "") array "[" i "]"
    }
    return n ? "local " left " = " right "\n" : ""
}

# What goes before a script: what it calls its keys, arguments and answers. An
# `each` is the index of its first.
function head(owner,    names, n, i, single, text, upper, numbers)
{
    if (!repeats[owner])
        text = locals(keys[owner], "_key", "KEYS")
    n = split(args[owner], names, " ")
    for (i = 1; i <= n; i++)
        if (role[owner, names[i]] != "each")
            single = single names[i] " "
        else
            text = text "local first_of_" names[i] " = " i "\n"
    text = text locals(single, "", "ARGV")
    n = split(answers[owner], names, " ")
    for (i = 1; i <= n; i++) {
        upper = upper (i > 1 ? ", " : "") toupper(names[i])
        numbers = numbers (i > 1 ? ", " : "") i
    }
    return text "local " upper " = " numbers "\n"
}

function has_word(text, word)
{
    return match(text, "(^|[^A-Za-z0-9_.])" word "($|[^A-Za-z0-9_])")
}

# Each name of the table is used, and no position and no unknown key or answer.
function check_names(owner, text,    names, n, i, name)
{
    n = split(args[owner], names, " ")
    for (i = 1; i <= n; i++) {
        name = (role[owner, names[i]] == "each" ? "first_of_" : "") names[i]
        if (!has_word(text, name))
            fail("the argument '" names[i] "' is not used")
        if (has(done, names[i]))
            fail("the argument '" names[i] "' has the name of a fragment")
    }
    n = repeats[owner] ? 0 : split(keys[owner], names, " ")
    for (i = 1; i <= n; i++)
        if (!has_word(text, names[i] "_key"))
            fail("the key '" names[i] "' is not used")
    n = split(answers[owner], names, " ")
    for (i = 1; i <= n; i++)
        if (!has_word(text, "\\{" toupper(names[i])))
            fail("the answer '" names[i] "' is not given")
    if (match(text, /(KEYS|ARGV)\[[0-9]/))
        fail("a position is said a second time: " substr(text, RSTART, 30))
    while (match(text, /[a-z_]+_key/)) {
        name = substr(text, RSTART, RLENGTH - 4)
        text = substr(text, RSTART + RLENGTH)
        if (!has(keys[owner], name))
            fail("the key '" name "' is not in the table")
    }
}

# Each list is made of its group, unless that is one value, or is always empty.
function check_groups(owner, text,    names, n, i, lists, m, j, at, group)
{
    gsub(/\n/, " ", text)
    n = split(answers[owner], names, " ")
    for (i = 1; i <= n; i++) {
        at = owner "/" names[i]
        m = split(values[at], lists, " ")
        for (j = 1; j <= m; j++) {
            group = group_of[at, lists[j]]
            if (type[at, lists[j]] == "list" && !has(used_groups, group) && \
                count_of(values["group " group]) > 1 && \
                !match(text, "[{]" toupper(names[i]) ",.*[{][}]"))
                fail("the list '" lists[j] "' is made without group." group)
        }
    }
}

# Every {ANSWER, ...} has as many values as the table says, and no answer begins
# with a number. Calls and tables within are put aside from the inside out.
function check_answers(owner, text,    one, name, count, commas)
{
    gsub(/'[^'\n]*'/, "0", text)
    gsub(/[ \t\n]+/, " ", text)
    if (text ~ /return \{ ?[0-9]/)
        fail("an answer begins with a number")
    while (match(text, /[({][^(){}]*[)}]/)) {
        one = substr(text, RSTART, RLENGTH)
        if (one ~ /^\{ ?[A-Z_]+[,}]/) {
            name = one
            gsub(/^\{ ?|[,}].*$/, "", name)
            if (!has(answers[owner], tolower(name)))
                fail("the answer '" tolower(name) "' is not in the table")
            commas = gsub(/,/, ",", one)
            count = split(values[owner "/" tolower(name)], commas_of, " ")
            if (commas != count)
                fail("the answer '" tolower(name) "' has " count \
                    " values, not " commas)
        }
        text = substr(text, 1, RSTART - 1) "_" substr(text, RSTART + RLENGTH)
    }
}

# ---- what is not used ----

# Counts in refers[block, name] the names that a line mentions: a.b.c is a, a.b and
# a.b.c. What a field that holds a key is called is none.
function note_names(line, block,    name, at)
{
    gsub(/[{ ][a-z]+ = [a-z]+_key/, "", line)
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*/)) {
        name = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        do {
            if (!refers[block, name]++)
                mentions[block] = mentions[block] name " "
            at = sub(/[.][^.]*$/, "", name)
        } while (at)
    }
}

# Marks in is_used the functions that a block leads to. Block 0 is what stands in
# no function.
function mark_used(block,    names, n, i, blocks, m, j)
{
    is_used[block] = 1
    n = split(mentions[block], names, " ")
    for (i = 1; i <= n; i++) {
        m = split(defined[names[i]], blocks, " ")
        for (j = 1; j <= m; j++)
            if (!is_used[blocks[j]])
                mark_used(blocks[j])
    }
}

# Whether more than the line itself mentions one of the names that it defines.
function is_needed(line, blocks,    names, n, i, j)
{
    if (line !~ /^local [A-Za-z_]+(, [A-Za-z_]+)*( = [A-Z0-9a-z{}'_., -]+)?$/ \
        && line !~ /^[a-z]+\.[A-Z]+(, [a-z]+\.[A-Z]+)* = [A-Z0-9, ]+$/)
        return 1
    sub(/^local /, "", line)
    sub(/ = .*$/, "", line)
    n = split(line, names, ", ")
    for (i = 1; i <= n; i++)
        for (j = 0; j <= blocks; j++)
            if (is_used[j] && refers[j, names[i]] > (j == 0))
                return 1
    return 0
}

# The text without the functions that nothing leads to, and the tables and numbers
# that only they used: a script makes all that it has each time that it runs.
# A function goes from a line without a blank before it to its `end`.
function pruned(text,    lines, n, i, block, blocks, block_of, name, kept)
{
    split("", refers); split("", mentions); split("", is_used)
    split("", defined)
    n = split(text, lines, "\n")
    for (i = 1; i < n; i++) {
        if (lines[i] ~ /^(local )?function /) {
            block = ++blocks
            name = lines[i]
            sub(/^(local )?function /, "", name)
            sub(/\(.*/, "", name)
            defined[name] = defined[name] block " "
        }
        block_of[i] = block
        note_names(lines[i], block + 0)
        if (lines[i] == "end")
            block = 0
    }
    mark_used(0)
    for (i = 1; i < n; i++)
        if (is_used[block_of[i] + 0] && is_needed(lines[i], blocks))
            kept = kept lines[i] "\n"
    return kept == text ? text : pruned(kept)
}

# ---- a script ----

BEGIN {
    REST = "-- rest\n"
}

function write_script(name,    owner, path, body, behind, needs, text, file)
{
    owner = "script " name
    path = lua "/" family "/" name ".lua"
    where = path
    if (!read_lua(path))
        fail("there is no such script")
    body = first_part
    behind = rest_part
    needs = needs_rest
    done = gathered = made_ones = used_groups = ""
    open_ones = " "
    gather(needs_first)
    where = path
    text = put_in_place(gathered body)
    gathered = ""
    gather(needs)
    where = path
    text = pruned(text REST put_in_place(gathered behind))
    behind = substr(text, index(text, REST) + length(REST))
    text = substr(text, 1, index(text, REST) - 1)
    # A library stands before the first part that uses it, so that a script which
    # has answered by then does not make it.
    text = libraries(text) text
    made_ones = ""
    text = text libraries(behind) behind
    check_names(owner, text)
    check_groups(owner, text)
    check_answers(owner, text)
    file = out "/" family "_" name ".lua"
    printf "%s%s", head(owner), text > file
    close(file)
}

function write_scripts(    names, n, i)
{
    n = split(scripts, names, " ")
    for (i = 1; i <= n; i++)
        write_script(names[i])
}
