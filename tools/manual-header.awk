# SPDX-License-Identifier: MIT
#
# Makes a page of section 3 of a public header: what its comments say, and the
# declarations below them. -v version=... says whose pages they are. With -v
# names=1 it writes what the header's functions are called, a line each.
#
# A comment of the headers is a block that begins with two stars. Its blank lines
# part paragraphs, what is indented by two blanks is shown as it is, and @param and
# @return go on over indented lines. What follows without an empty line is what it is
# about: a type, a macro, or one or more functions.

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/^[.']/, "\\\\\\&&", text)
    return text
}

# A list begins a paragraph of its own.
function put(text) {
    if (text ~ /^\.TP/)
        sub(/\.PP\n$/, "", body)
    body = body text "\n"
}

# Prose, with what is called, and what is a constant, in bold.
function prose(text) {
    text = escaped(text)
    gsub(/docs\/guarantees\.md/, "latchkey\\-guarantees(7)", text)
    gsub(/docs\//, "", text)
    gsub(/lk_[a-z0-9_]+\(\)/, "\\fB&\\fR", text)
    gsub(/LK_[A-Z0-9_]+/, "\\fB&\\fR", text)
    return text
}

function show_end() {
    if (is_shown)
        put(".fi\n.RE")
    is_shown = 0
}

# Puts the comment that was gathered in lines[1..count].
function put_comment(    i, line, word) {
    for (i = 1; i <= count; i++) {
        line = lines[i]
        if (line ~ /^@file/)
            continue
        if (line ~ /^@param/) {
            show_end()
            sub(/^@param +/, "", line)
            word = line
            sub(/ .*/, "", word)
            sub(/^[^ ]+ */, "", line)
            put(".TP\n.I " escaped(word))
            is_listed = 1
        } else if (line ~ /^@return/) {
            show_end()
            sub(/^@return +/, "", line)
            put(".TP\n.B Returns")
            is_listed = 1
        } else if (line == "") {
            show_end()
            is_listed = 0
            if (i > 1 && i < count)
                put(".PP")
            continue
        } else if (line ~ /^  / && !is_listed) {
            if (!is_shown)
                put(".RS\n.nf")
            is_shown = 1
            put(escaped(line))
            continue
        } else {
            show_end()
        }
        sub(/^ +/, "", line)
        put(prose(line))
    }
    show_end()
    is_listed = 0
}

# What a block of declarations is about: a type, a macro, or its functions.
function subject(text,    names, word) {
    if (text ~ /^#define/) {
        sub(/^#define +/, "", text)
        sub(/[^A-Za-z0-9_].*/, "", text)
        return text
    }
    if (match(text, /\(\*lk_[a-z0-9_]+\)/))
        return substr(text, RSTART + 2, RLENGTH - 3)
    if (match(text, /^(typedef )?(struct|enum) lk_[a-z0-9_]+/)) {
        word = substr(text, RSTART, RLENGTH)
        sub(/.* /, "", word)
        return word
    }
    while (match(text, /lk_[a-z0-9_]+\(/)) {
        word = substr(text, RSTART, RLENGTH - 1)
        names = names (names == "" ? "" : ", ") word
        text = substr(text, RSTART + RLENGTH)
    }
    return names
}

# Without the marks of a function, by whose width its lines are indented less.
function put_lines(text,    i, part, parts, marks) {
    parts = split(text, part, "\n")
    for (i = 1; i <= parts; i++) {
        if (match(part[i], /^(LK_API |LK_NODISCARD )+/)) {
            marks = "^" sprintf("%" RLENGTH "s", "")
            part[i] = substr(part[i], RLENGTH + 1)
        } else if (marks != "" && !sub(marks, "", part[i])) {
            sub(/^ +/, "    ", part[i])
        }
        sub(/ +\\$/, " \\", part[i])
        put(escaped(part[i]))
    }
}

function put_declaration(    name, list) {
    name = subject(declaration)
    if (name == "")
        return
    if (declaration ~ /^LK_API/) {
        functions = functions (functions == "" ? "" : ", ") name
        list = name
        gsub(/, /, "\n", list)
        if (names)
            print list
    }
    put(".SS " name "\n.nf")
    put_lines(declaration)
    put(".fi\n.PP")
    put_comment()
}

function declaration_end() {
    if (declaration != "")
        put_declaration()
    declaration = ""
    is_due = depth = 0
}

function file_end() {
    for (i = 1; i <= count; i++)
        about = about lines[i] "\n"
    put(".SH DESCRIPTION")
    put_comment()
    put(".SH FUNCTIONS AND TYPES")
    has_file = 1
}

# The first sentence of the header's comment, on one line.
function summary(    text) {
    text = about
    sub(/^@file\n/, "", text)
    gsub(/\n/, " ", text)
    sub(/\.( .*)?$/, "", text)
    while (match(text, /\. [A-Z]/))
        text = substr(text, 1, RSTART - 1)
    return text
}

/^\/\*\*/ {
    count = 0
    in_comment = 1
    line = $0
    sub(/^\/\*\* ?/, "", line)
    if (line ~ /\*\/$/) {
        sub(/ *\*\/$/, "", line)
        in_comment = 0
        is_due = 1
    }
    if (line != "")
        lines[++count] = line
    next
}

in_comment && /\*\/$/ {
    in_comment = 0
    line = $0
    sub(/^ *\*?\/? */, "", line)
    if (sub(/ *\*\/$/, "", line))
        lines[++count] = line
    if (lines[1] ~ /^@file/)
        file_end()
    else
        is_due = 1
    next
}

in_comment {
    line = $0
    sub(/^ \* ?/, "", line)
    lines[++count] = line
    next
}

is_due && (/^#(if|end)/ || (/^$/ && declaration == "")) { next }

is_due && /^$/ && depth == 0 { declaration_end() }

is_due {
    declaration = declaration (declaration == "" ? "" : "\n") $0
    line = $0
    depth += gsub(/\{/, "", line) - gsub(/\}/, "", line)
}

END {
    declaration_end()
    if (names)
        exit
    header = FILENAME
    sub(/.*\//, "", header)
    page = "lk_" header
    sub(/\.h$/, "", page)
    printf ".TH %s 3 \"\" \"latchkey %s\" \"Latchkey\"\n", toupper(page), version
    printf ".SH NAME\n%s \\- %s\n", \
        functions == "" ? page : functions, escaped(summary())
    printf ".SH SYNOPSIS\n.nf\n.B #include <latchkey/%s>\n", header
    printf ".fi\n.PP\nLink with \\fI\\-llatchkey\\fR.\n"
    printf "%s", body
    printf ".SH SEE ALSO\n.BR latchkey (1),\n.BR latchkey\\-guarantees (7)\n"
    printf ".PP\nDocuments are installed in \\fIshare/doc/latchkey\\fR.\n"
}
