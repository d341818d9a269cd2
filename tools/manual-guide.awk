# SPDX-License-Identifier: MIT
#
# Makes a page of section 7 of a guide of docs/. -v page=... is its name, -v
# version=... whose it is. It knows what our guides have: headings, paragraphs,
# lists, tables, fenced blocks, bold, code and links. A row of a table becomes an
# entry of a list, its first cell the word in front.

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/^[.']/, "\\\\\\&&", text)
    return text
}

# Puts the text between each pair of marks into a font.
function in_font(text, mark, font,    at, open, result) {
    while (at = index(text, mark)) {
        result = result substr(text, 1, at - 1) (open ? "\\fR" : font)
        text = substr(text, at + length(mark))
        open = !open
    }
    return result text
}

# A link to another page is its words.
function prose(text,    link, words) {
    text = escaped(text)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(text, RSTART, RLENGTH)
        words = substr(link, 2, index(link, "](") - 2)
        text = substr(text, 1, RSTART - 1) words substr(text, RSTART + RLENGTH)
    }
    text = in_font(text, "**", "\\fB")
    text = in_font(text, "*", "\\fI")
    return in_font(text, "`", "\\fB")
}

# What was gathered of a paragraph, or of an entry of a list.
function flush() {
    if (paragraph != "")
        print prose(paragraph)
    paragraph = ""
}

function gather(text) {
    sub(/^ +/, "", text)
    paragraph = paragraph (paragraph == "" ? "" : " ") text
}

function put_row(    cell, cells, i) {
    cells = split(substr($0, 2, length($0) - 2), cell, /\|/)
    for (i = 1; i <= cells; i++) {
        gsub(/^ +| +$/, "", cell[i])
        if (is_first_row)
            heading[i] = cell[i]
        else if (i == 1)
            printf ".TP\n\\fB%s\\fR\n", escaped(cell[i])
        else
            printf "%s%s: %s\n", (i > 2 ? ".br\n" : ""), prose(heading[i]),
                prose(cell[i])
    }
    is_first_row = 0
}

BEGIN { is_first_row = 1 }

/^```/ {
    flush()
    is_shown = !is_shown
    print is_shown ? ".PP\n.RS\n.nf" : ".fi\n.RE"
    next
}

is_shown {
    print escaped($0)
    next
}

/^\|[-|]+$/ { next }

/^\|/ {
    flush()
    gsub(/`/, "")
    put_row()
    next
}

{ is_first_row = 1 }

/^# / {
    printf ".TH %s 7 \"\" \"latchkey %s\" \"Latchkey\"\n", toupper(page), version
    printf ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", escaped(page), prose(substr($0, 3))
    next
}

/^##+ / {
    flush()
    level = /^## / ? ".SH" : ".SS"
    sub(/^#+ /, "")
    printf "%s %s\n", level, prose($0)
    is_fresh = 1
    next
}

/^$/ {
    flush()
    is_due = !is_fresh
    next
}

/^- / {
    flush()
    print ".IP \\(bu 2"
    $0 = substr($0, 3)
    is_due = 0
}

is_due && paragraph == "" && !/^ / { print ".PP" }

{
    is_due = is_fresh = 0
    gather($0)
}

END {
    flush()
    print ".SH SEE ALSO\n.BR latchkey (1),\n.BR lk_hold (3)"
}
