# SPDX-License-Identifier: MIT
#
# Makes the rights that the tool prints, as C, of what src/rights.table, the
# scripts, their tables and the kinds say:
#
#   awk -v lua=lua -f tools/rights.awk src/rights.table lua/*/*.table src/*/*.c
#
# For each primitive: the commands that its scripts call, fragments included, and
# those that C sends; the keys and channels that its kinds and its scripts' tables
# declare, as patterns in which % is the prefix. What a script calls by a name
# that is made up, its file says in a line `-- calls: A B`.
#
# What a floor sends and the table does not say, or the other way round, is an
# error, as is all that is not understood.

function fail(words)
{
    if (!failed)
        print "rights: " words > "/dev/stderr"
    failed = 1
    exit 1
}

# ---- the tables ----

function read_rights(    i, text)
{
    if ($1 == "primitive") {
        primitives[++primitive_count] = $2
        for (i = 3; i <= NF; i++) {
            folders[$2] = folders[$2] " " $i
            is_primitive[$i] = 1
        }
    } else if ($1 == "key" && NF == 3) {
        keys_said[$2] = keys_said[$2] " " $3
    } else if ($1 == "channel" && $2 == "cluster" && NF == 3) {
        cluster_forms[++cluster_form_count] = $3
    } else if ($1 == "channel" && $2 == "client") {
        for (i = 4; i <= NF; i++)
            inbox[$i] = $3
    } else if ($1 == "sends") {
        said[$2] = 1
        for (i = 3; i <= NF; i++)
            senders[$2] = senders[$2] " " $i
    } else if ($1 == "channel" && $2 == "sentinel" && NF == 3) {
        sentinel_channels[++sentinel_channel_count] = $3
    } else if ($1 == "free") {
        said[$2] = is_free[$2] = 1
    } else if ($1 == "sentinel" && NF == 2) {
        at_sentinels[++sentinel_count] = $2
        said["sentinel"] = is_free["sentinel"] = 1
    } else if ($1 == "cluster" && NF == 2) {
        in_cluster[++cluster_count] = $2
        sub(/\|.*/, "", $2)
        said[$2] = is_free[$2] = 1
    } else if ($1 == "apart") {
        in_cluster[++cluster_count] = $2
        is_apart[$2] = 1
    } else if ($1 == "helps") {
        said[$2] = 1
        helps[++help_count] = $2
        text = $0
        sub(/^helps +[^ ]+ +/, "", text)
        without[$2] = text
    } else {
        fail("'" $0 "' is no line of the table")
    }
}

function read_table(    parts)
{
    split(FILENAME, parts, "/")
    if ($1 == "form" && NF == 3)
        form_text[$2] = $3
    else if ($1 == "script")
        script = "lk__" parts[2] "_" $2
    else if ($1 == "end")
        script = ""
    else if (script != "" && ($1 == "key" || $1 == "keys"))
        key_forms[script] = key_forms[script] " " $3
    if (script != "")
        family_of[script] = parts[2]
}

# ---- scripts ----

function file_is_there(path,    line, found)
{
    found = (getline line < path) >= 0
    close(path)
    return found
}

function path_of(name, family)
{
    if (file_is_there(lua "/" family "/" name ".lua"))
        return lua "/" family "/" name ".lua"
    return lua "/shared/" name ".lua"
}

# Adds what a script or a fragment calls, and its fragments.
function gather(path, family,    line, text, needs, calls, names, n, i)
{
    if (path in gathered)
        return
    gathered[path] = 1
    if (!file_is_there(path))
        fail("there is no " path)
    while ((getline line < path) > 0) {
        if (line ~ /^-- needs:/)
            needs = needs " " substr(line, index(line, ":") + 1)
        else if (line ~ /^-- calls:/)
            calls = calls " " substr(line, index(line, ":") + 1)
        else if (line !~ /^[ \t]*--/)
            text = text line "\n"
    }
    close(path)
    n = split(calls, names, " ")
    for (i = 1; i <= n; i++)
        add("command", tolower(names[i]))
    find_calls(path, text, calls != "")
    n = split(needs, names, " ")
    for (i = 1; i <= n; i++)
        gather(path_of(names[i], family), family)
}

function find_calls(path, text, is_told,    rest, word)
{
    while (match(text, /redis\.p?call\([ \n]*/)) {
        rest = substr(text, RSTART + RLENGTH)
        text = rest
        if (match(rest, /^'[A-Za-z]+'/)) {
            word = tolower(substr(rest, 2, RLENGTH - 2))
            rest = substr(rest, RLENGTH + 1)
            if (word == "pubsub" && match(rest, /^[ \n]*,[ \n]*'[A-Za-z]+'/)) {
                rest = substr(rest, 1, RLENGTH)
                gsub(/[^A-Za-z]/, "", rest)
                word = word "|" tolower(rest)
            }
            if (word != "pubsub")
                add("command", word)
            else if (!is_told)
                fail(path " asks PUBSUB what it does not name")
        } else if (!is_told) {
            fail(path " calls what it does not name; say it after `-- calls:`")
        }
    }
}

# ---- C ----

function inside(text,    i, depth, c)
{
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(" || c == "{") - (c == ")" || c == "}")
        if (depth < 0)
            return substr(text, 1, i - 1)
    }
    fail("a bracket has no partner")
}

# Adds the words of each command that is written with lk__arg_text().
function find_sends(kind, text,    rest, word, words)
{
    while (match(text, \
        /(\{|\[0\] = |lk__arg [a-z_]+ =[ \n]+)lk__arg_text\(/)) {
        text = substr(text, RSTART + RLENGTH)
        words = inside(text)
        rest = substr(text, length(words) + 2)
        while (match(words, /"[A-Z][A-Z]+"/)) {
            word = tolower(substr(words, RSTART + 1, RLENGTH - 2))
            words = substr(words, RSTART + RLENGTH)
            if (word == "client" && \
                match(rest, /^,[ \n]*lk__arg_text\("[A-Z]+"/)) {
                rest = substr(rest, 1, RLENGTH - 1)
                sub(/.*"/, "", rest)
                word = word "|" tolower(rest)
            }
            add(kind, word)
        }
    }
}

# The texts in quotes that follow each place of a pattern.
function find_texts(kind, text, pattern,    list)
{
    while (match(text, pattern)) {
        text = substr(text, RSTART + RLENGTH)
        list = pattern ~ /\{$/ ? inside(text) : substr(text, 1, index(text, "\""))
        if (pattern !~ /\{$/)
            list = "\"" list
        while (match(list, /"[^"]*"/)) {
            form_add(kind, substr(list, RSTART + 1, RLENGTH - 2))
            list = substr(list, RSTART + RLENGTH)
        }
    }
}

function read_folder(folder,    text, name, names, n, i)
{
    text = source[folder]
    if (text == "")
        fail("src/" folder " is no primitive's folder")
    find_sends("command", text)
    find_texts("key", text, "\\.keys =[ \n]+\\(const char \\*const\\[\\]\\)\\{")
    find_texts("key", text, "lk__key_make\\(\"")
    find_texts("channel", text, "\\.channel = \"")
    find_texts("channel", text, "\\.topic = \"")
    while (match(text, /lk__[a-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (name in family_of) {
            gather(path_of(substr(name, length(family_of[name]) + 6), \
                family_of[name]), family_of[name])
            n = split(key_forms[name], names, " ")
            for (i = 1; i <= n; i++)
                form_add("key", names[i])
        } else if (name ~ /^lk__script_/ && name != "lk__script_count") {
            gather(lua "/" substr(name, 12) ".lua", "")
        }
    }
}

# ---- patterns ----

# Puts a form as patterns: of names without a brace, and of those with one. See
# src/base/names.h.
function form_add(kind, form,    own)
{
    if (form == "" && kind == "channel") {
        return # it has none
    } else if (form ~ /^<claim>:/) {
        sub(/^<claim>/, "", form)
        sub(/[0-9]+$/, "*", form)
        add("key", "{%*}:*" form)
        add("key", "%*" form)
    } else if (form == "N") {
        add(kind, "%*")
    } else if (form ~ /^:[a-z]$/) {
        add(kind, "latchkey:{%*}" form)
        add(kind, "latchkey::%*" form)
    } else if (form ~ /^\{N\}:/) {
        sub(/^\{N\}/, "", form)
        add(kind, "{%*}" form)
        add(kind, "%*" form)
    } else if (form ~ /\{\*\}$/) {
        add(kind, substr(form, 1, length(form) - 3) "{%*")
    } else if (form ~ /\*$/) {
        add(kind, substr(form, 1, length(form) - 1) "%*")
    } else if (form ~ /^[a-z][a-z_:-]*$/) {
        own = form ~ /^latchkey:/ ? "::" : ":"
        # Redisson puts more behind the name of a channel.
        add(kind, form ":{%*" (kind == "channel" ? "" : "}"))
        add(kind, form own "%*")
    } else {
        fail("'" form "' is no form")
    }
}

# What a form of the tables is.
function text_of(form)
{
    if (!(form in form_text))
        fail("no table has the form '" form "'")
    return form_text[form]
}

# A client's own key or channel, as a pattern in which $ is the tenant.
function own_pattern(form)
{
    return text_of(form) "$:*"
}

# The channels of names that are used in a cluster alone, one for each client.
function put_cluster_channels(    i, n)
{
    clear()
    for (i = 1; i <= cluster_form_count; i++)
        form_add("channel", text_of(cluster_forms[i]))
    n = count["channel"]
    for (i = 1; i <= n; i++)
        cluster_channels[i] = list["channel", i] ":*"
    put_list("cli_rights_cluster_channels", cluster_channels, n)
}

# ---- what comes of it ----

function add(kind, what)
{
    if (kind == "command" && what in is_apart)
        return
    if ((kind, what) in there)
        return
    there[kind, what] = 1
    list[kind, ++count[kind]] = what
}

# The order does not depend on the awk.
function sort(kind,    i, k, text)
{
    for (i = 2; i <= count[kind]; i++) {
        text = list[kind, i]
        for (k = i - 1; k >= 1 && list[kind, k] > text; k--)
            list[kind, k + 1] = list[kind, k]
        list[kind, k + 1] = text
    }
}

function put(kind, name,    i)
{
    sort(kind)
    printf "static const char *const %s_%ss[] = {\n", name, kind
    for (i = 1; i <= count[kind]; i++)
        printf "    \"%s\",\n", list[kind, i]
    print "    NULL};"
}

function clear(    key)
{
    for (key in there)
        delete there[key]
    for (key in gathered)
        delete gathered[key]
    for (key in list)
        delete list[key]
    for (key in count)
        delete count[key]
}

function is_for(command, primitive)
{
    return senders[command] == "" || \
        index(senders[command] " ", " " primitive " ") > 0
}

function write_primitive(name,    names, n, i, command)
{
    clear()
    for (command in senders)
        if (is_for(command, name))
            add("command", command)
    n = split(keys_said["client"] , names, " ")
    for (i = 1; i <= n; i++)
        add("key", own_pattern(names[i]))
    if (name in inbox)
        add("channel", own_pattern(inbox[name]))
    n = split(keys_said[name], names, " ")
    for (i = 1; i <= n; i++)
        form_add("key", names[i])
    n = split(folders[name], names, " ")
    for (i = 1; i <= n; i++)
        read_folder(names[i])
    # A primitive that neither publishes nor subscribes needs no channel.
    if (!(("command", "publish") in there) && !(("command", "subscribe") in there))
        count["channel"] = 0
    put("command", name)
    put("key", name)
    put("channel", name)
}

# The table says of the floors what they do.
function check_floors(    folder, command)
{
    clear()
    for (folder in source)
        if (!(folder in is_primitive) && folder != "inspect" && folder != "cli")
            find_sends("floor", source[folder])
    for (command in said)
        if (!(("floor", command) in there))
            fail("no floor sends '" command "'")
    for (command = 1; command <= count["floor"]; command++)
        if (!(list["floor", command] in said))
            fail("src/rights.table does not know '" list["floor", command] "'")
    for (command = 1; command <= sentinel_count; command++)
        check_text(at_sentinels[command])
}

# The last word of a command stands in a floor's source.
function check_text(command,    folder, word)
{
    word = toupper(command)
    sub(/.*\|/, "", word)
    for (folder in source)
        if (index(source[folder], "\"" word "\""))
            return
    fail("no floor sends '" command "'")
}

function put_list(name, all, n,    i)
{
    print "const char *const " name "[] = {"
    for (i = 1; i <= n; i++)
        printf "    \"%s\",\n", all[i]
    print "    NULL};"
}

FILENAME ~ /\.c$/ {
    split(FILENAME, file_parts, "/")
    source[file_parts[2]] = source[file_parts[2]] $0 "\n"
    next
}

{ sub(/#.*/, "") }
!NF { next }
FILENAME ~ /rights\.table$/ { read_rights(); next }
{ read_table() }

END {
    if (failed)
        exit 1
    for (i in said)
        if (!(i in without) && !(i in is_free) && !(i in senders))
            senders[i] = ""
    check_floors()
    print "#include \"cli/rights.h\"\n\n#include <stddef.h>\n"
    for (i = 1; i <= primitive_count; i++)
        write_primitive(primitives[i])
    print "const cli_help cli_rights_helpful[] = {"
    for (i = 1; i <= help_count; i++)
        printf "    {\"%s\", \"%s\"},\n", helps[i], without[helps[i]]
    print "    {NULL, NULL}};"
    put_list("cli_rights_cluster", in_cluster, cluster_count)
    put_cluster_channels()
    put_list("cli_rights_sentinels", at_sentinels, sentinel_count)
    put_list("cli_rights_sentinel_channels", sentinel_channels, \
        sentinel_channel_count)
    print "const cli_rights cli_rights_of[] = {"
    for (i = 1; i <= primitive_count; i++)
        printf "    {\"%s\", %s_commands, %s_keys, %s_channels},\n", \
            primitives[i], primitives[i], primitives[i], primitives[i]
    print "    {NULL, NULL, NULL, NULL}};"
}
