# SPDX-License-Identifier: MIT
"""C of a page, compiled against the public headers alone.

A block with a main() is a program. Any other is a fragment, and stands in this:
"""

import os
import subprocess

from fences import Fault

WRAPPER = """\
#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the program around it has. */
extern lk_client *client, *clients[3];
extern lk_status status;
extern void *data;
lk_status render(lk_flight_ticket *ticket, void *data);
void send_page(const void *bytes, size_t size);
void write_order(uint64_t fence);
void write_report(void);
void page_fragment(void);

void page_fragment(void)
{
#line 1
"""


class Compiler:
    """Compiles with the compiler cc and the headers of the folder include."""

    def __init__(self, cc, include, directory):
        self._command = [cc, "-std=c11", "-Wall", "-Wextra", "-Werror",
                         "-Wno-unused-variable", "-Wno-unused-but-set-variable",
                         "-D_POSIX_C_SOURCE=200809L", "-I", include, "-c", "-o",
                         os.path.join(directory, "block.o"), "-x", "c", "-"]

    def run(self, block):
        source = block.text
        if "int main(" not in source:
            source = WRAPPER + source + "}\n"
        done = subprocess.run(self._command, input=source, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Fault(f"{block.place}: does not compile:\n{done.stderr}")
