#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a browser makes of the page of `latchkey serve`.

usage: serve.py TOOL SERVER

Exit code 77: there is no chromium, and nothing was run.
"""

import json
import re
import sys

from chromium import Fault, Page, is_there
from stage import Stage

IMAGE = "<img src=x onerror=\"document.title='owned'\">"
LONGEST = "n" * 512
HOSTILE = IMAGE, "a\u202eb", LONGEST, "</script><b>bold</b>"
JAVA = "01234567-89ab-cdef-0123-456789abcdef:71"


def check(is_so, what):
    if not is_so:
        raise Fault(f"not so: {what}")


def it_follows_a_lock(stage, page):
    page.wait_text("live", "No name is in use.", "Nobody waits.")
    first = stage.hold("lock", "--why", "deploy 4.2", "deploy")
    page.wait_text("deploy 4.2")
    second = stage.hold("lock", "--why", "deploy 4.3", "deploy")
    page.wait("document.title.startsWith('1 waiting')")
    page.wait("document.querySelectorAll('#picture g').length === 3")
    page.wait("document.querySelectorAll('#picture path.edge').length === 2")
    line = page.value("document.querySelector('#waits').textContent")
    check(re.search(r":\d+ cat.*deploy 4\.3.*1 of 1.*deploy.*:\d+ cat", line),
          f"the table of waits has the wait: {line}")
    stage.end(first)
    page.wait_text("Nobody waits.")
    page.wait("document.querySelector('#rows .why').textContent"
              " === 'deploy 4.3'")
    check("/s" in page.value("document.querySelector('#sums').textContent"),
          "changes are counted")
    stage.end(second)
    page.wait_text("No name is in use.")
    check(not page.value("document.querySelector('#rows').childElementCount"),
          "no row is left")


def a_revoked_hold_is_called_so(stage, page):
    """No process keeps it, so a break of it waits, and can be given up."""
    stage.run("acquire", "--lease", "1h", "--why", "deploy 4.4", "deploy")
    breaking = stage.begin("break", "--yes", "deploy")
    page.wait("document.querySelector('#rows .why')?.textContent"
              ".startsWith('revoked; deploy 4.4')")
    waiter = stage.hold("lock", "deploy")
    page.wait("document.querySelector('#waits').textContent"
              ".includes(', revoked')")
    page.value("document.querySelector('#rows button').click()")
    line = page.value("document.querySelector('#rows .more').textContent")
    check(", revoked, for " in line, f"so do the details: {line}")
    breaking.kill()
    stage.run("break", "--yes", "--now", "deploy")
    stage.end(waiter)
    page.wait_text("No name is in use.")


def a_link_opens_its_name(stage, page):
    """With how it went while the page was there; a lease that ran out is counted."""
    opened = "document.querySelector('#rows [aria-expanded=true]')"
    plots = "document.querySelector('#rows .past')"
    first = stage.hold("lock", "a b/%")
    page.wait("document.querySelectorAll('#rows button').length === 1")
    page.value("location.hash = '#' + encodeURIComponent('a b/%')")
    page.wait(f"{opened}?.textContent === 'a b/%'")
    page.wait(f"{plots}.querySelectorAll('polyline').length === 3")
    page.wait(f"{plots}.textContent.includes('Holds: 1, at most 1')")
    check(page.value("document.querySelector('#rows .more a').hash"
                     " === location.hash"), "the name's own link is the same")
    stage.end(first)
    page.wait_text("No name is in use.")
    page.value("location.hash = '#soon'")
    page.wait_text("Not in use, or not shown: soon.")
    stage.run("acquire", "--lease", "1s", "soon")
    page.wait(f"{opened}?.textContent === 'soon'")
    page.wait_text("No name is in use.")
    second = stage.hold("lock", "soon")
    page.wait("document.querySelectorAll('#rows button').length === 1")
    page.value("document.querySelector('#rows button').click()")
    page.wait(f"{plots}.textContent.includes('Leases that ran out: 1')")
    stage.end(second)
    page.wait_text("No name is in use.")


def names_shown(page):
    return page.value("[...document.querySelectorAll('#rows .name bdi')]"
                      ".map(e => e.textContent)")


def what_others_wrote_is_text(stage, page):
    for name in HOSTILE:
        stage.server.command("HSET", name, JAVA, "1")
    holder = stage.hold("lock", "--why", IMAGE, "harmless")
    page.wait_text(IMAGE, "a\\u202eb", "harmless", "</script><b>bold</b>")
    check(LONGEST in names_shown(page), "the longest name is there")
    check(page.value("document.images.length + "
                     "document.querySelectorAll('#rows b').length") == 0,
          "no name is an element")
    check(page.value("document.title") != "owned", "no name runs")
    stage.end(holder)


def a_name_that_cannot_be_read_says_why(stage, page):
    stage.server.command("HSET", "open{", JAVA, "1")
    stage.server.command("RPUSH", "redisson_lock_queue:open{", JAVA)
    page.wait_text("cannot be read: the name has a '{' with no '}' after it")
    stage.server.command("DEL", "open{", "redisson_lock_queue:open{")
    page.wait("!document.body.textContent.includes('cannot be read: the name')")


def text_is_cut_between_what_is_seen(page):
    """An accent stays over its letter, and a picture that is joined whole."""
    cut = page.value("shortened('e\\u0301'.repeat(30), 5)")
    check(cut == "e\u0301e\u0301\u2026e\u0301e\u0301", f"accents: {cut!a}")
    two = "\U0001f469\u200d\U0001f680"
    cut = page.value(f"shortened({json.dumps('ab' + two + 'cdef')}, 6)")
    check(cut == f"ab{two}\u2026ef", f"a picture: {cut!a}")


def it_fits(page):
    """Nothing is wider than the window, with the longest of names."""
    for width in 1200, 700, 360:
        page.size(width, 900)
        page.wait(f"innerWidth === {width}")
        wide = page.value("document.documentElement.scrollWidth")
        check(wide <= width, f"the page is {wide} wide in {width}")
    page.size(1200, 900)


CONTRAST = """(selector => {
  const numbers = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => numbers(c).slice(0, 3).map(v => v / 255).map(v =>
    v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const element = document.querySelector(selector);
  let behind = element;
  while (numbers(getComputedStyle(behind).backgroundColor)[3] === 0)
    behind = behind.parentElement;
  const two = [light(getComputedStyle(element).color),
    light(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a);
  return (two[0] + 0.05) / (two[1] + 0.05);
})"""


def it_can_be_read(page):
    """In both modes, by contrast: 4.5 is what WCAG asks of text."""
    for mode in "light", "dark":
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": mode}])
        page.wait("matchMedia('(prefers-color-scheme: %s)').matches" % mode)
        for selector in "td", "th", "td button", "#state", "#at", "#note", "dt":
            found = page.value(f"{CONTRAST}({json.dumps(selector)})")
            check(found >= 4.5, f"{mode}: {selector} has contrast {found:.1f}")


def keys_reach_it(page):
    """A row opens by a key, and keeps the focus at the next look."""
    for _ in range(12):
        page.press("Tab")
        if page.value("document.activeElement.matches('td button')"):
            break
    page.press("Enter")
    page.wait("document.activeElement.getAttribute('aria-expanded') === 'true'")
    page.value("mark = last")
    page.wait("last !== mark")
    check(page.value("document.activeElement.matches("
                     "'td button[aria-expanded=true]')"), "the focus stays")
    page.wait_text("Held by")


def it_filters_and_sorts(page):
    page.value("""$('filter').value = 'BOLD';
        $('filter').dispatchEvent(new Event('input'))""")
    page.wait_text("1 of 4 fit the filter.")
    page.value("""$('filter').value = '';
        $('sort').value = 'name';
        $('filter').dispatchEvent(new Event('input'))""")
    names = names_shown(page)
    check(names == sorted(names) and len(names) == 4, f"in order: {names}")


CIRCLE = """(() => {
  const party = (owner, waits_for) => ({ owner, host: 'h', pid: 1,
    command: owner, user: null, client: null, reason: null, mode: null,
    count: 1, library: 'latchkey', fence: 1, held_ms: 9e3, lease_ms: 9e3,
    waits_for, waited_ms: 1, position: 1 });
  const name = (name, one, other, next) => ({ name, kind: 'lock', ours: true,
    holder_count: 1, waiter_count: 1, value: null, holder: party(one, null),
    rate: 0, stuck: true, holders: [party(one, next)],
    waiters: [party(other, null)] });
  take({ server: 's', every_ms: 1000, trouble: null, changes: 0,
    truncated: false, all: { names: 2, held: 2, waiters: 2 },
    names: [name('a', 'P', 'Q', 'b'), name('b', 'Q', 'P', 'a')] });
  return [$('circle').hidden, $('circle').textContent,
    document.querySelectorAll('#picture path.edge.stuck').length];
})()"""


def a_circle_is_an_alert(page):
    hidden, words, edges = page.value(CIRCLE)
    check(not hidden and words.startswith("Deadlock: a, b."),
          f"the circle is told: {words}")
    check(edges == 4, f"all four edges are marked: {edges}")


def an_outage_is_clear(stage, page):
    stage.server.stop()
    page.wait_text("server away", "The tool cannot look at the server: ",
                   "What is shown is from ")
    check(page.value("document.body.classList.contains('old')"), "it is dim")
    stage.begin_server_anew()
    page.wait_text("live", "No name is in use.")
    check(page.value("$('trouble').hidden"), "the trouble is over")


def the_end_of_the_tool_is_clear(stage, page, tool, url):
    tool.kill()
    tool.wait()
    page.wait_text("not connected", "does not answer", "Trying again.")
    port = re.search(r":(\d+)/", url).group(1)
    stage.serve(port)
    page.wait_text("live")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if not is_there():
        print("not run: there is no chromium")
        sys.exit(77)
    with Stage(*sys.argv[1:]) as stage:
        tool, url = stage.serve()
        with Page(url) as page:
            it_follows_a_lock(stage, page)
            a_revoked_hold_is_called_so(stage, page)
            a_link_opens_its_name(stage, page)
            what_others_wrote_is_text(stage, page)
            a_name_that_cannot_be_read_says_why(stage, page)
            text_is_cut_between_what_is_seen(page)
            it_fits(page)
            it_can_be_read(page)
            keys_reach_it(page)
            it_filters_and_sorts(page)
            a_circle_is_an_alert(page)
            an_outage_is_clear(stage, page)
            the_end_of_the_tool_is_clear(stage, page, tool, url)
            check(page.told == [], f"nothing was stopped: {page.told}")
    print("all of it was so")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(str(fault))
