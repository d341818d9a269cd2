-- SPDX-License-Identifier: MIT
-- add: puts values at the end of a list.

local function add(list, ...)
    for i = 1, select('#', ...) do
        list[#list + 1] = (select(i, ...))
    end
end
