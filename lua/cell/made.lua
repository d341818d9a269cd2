-- SPDX-License-Identifier: MIT
-- made: what was made of a cell before, by a change that is sent again.
-- needs: cell memo

-- Reads the cell and the memo; a change that was made before settles others of its
-- client again. Returns an error; or nil and, if it was made, its version.
local function made(key, memory, op, settled)
    local bad = cell.look(key)
    if bad then
        return bad
    end
    memo.look(memory, op)
    if memo.words then
        cell.settle(memory, op, settled)
    end
    return nil, tonumber(memo.words)
end
