-- SPDX-License-Identifier: MIT
-- part_latch_facts: what a waiter has to know. Each of them judges by itself,
-- from the generation for which it waits.
-- Needs: part_clock, part_latch.

local facts = {}

-- Milliseconds after which a look makes sense: the time of the latch ends.
function facts.look()
    if latch.till == 0 or latch.phase == 'unset' then
        return -1
    end
    return math.max(latch.till - clock.ms, 0) + 1
end

function facts.answer()
    if latch.phase == 'open' then
        return {1, latch.gen, 0, 0, latch.opened, latch.gone}
    end
    local gen = latch.phase == 'armed' and latch.gen or latch.number(1)
    return {0, facts.look(), gen, 0, 0, 0, latch.opened, latch.gone}
end
