-- SPDX-License-Identifier: MIT
-- part_cell_change: whether a change of a cell may be made, and what is kept
-- beside it.
-- Needs: part_error, part_clock, part_cell.

local change = {}

-- The answer that refuses a change of another version than the one that is
-- expected: 0 is an unset cell, "" any. nil: it is the one.
function change.refused(expected)
    if expected == '' or expected == (cell.version or '0') then
        return nil
    end
    return {0, cell.version or '0'}
end

-- An error if there is none after this one, or nil.
function change.ended()
    return beyond((tonumber(cell.version or redis.call('HGET', mark, 'version')
        or '') or 0) + 1, 'versions')
end

-- The version after this one. A counter, that an unset cell begins at the
-- server's clock in microseconds: there are fewer changes than microseconds,
-- so what was deleted or lost has had none as high. The mark is for a clock
-- that was set back.
function change.next_version()
    if cell.version then
        return string.format('%.0f', tonumber(cell.version) + 1)
    end
    local last = tonumber(redis.call('HGET', mark, 'version') or '') or 0
    return string.format('%.0f', math.max(clock.us, last + 1))
end

-- Writes a field of the mark. Returns an error or nil.
function change.mark(field, number)
    return failed(redis.pcall('PEXPIRE', mark, MARK_MS))
        or failed(redis.pcall('HSET', mark, field, number))
        or failed(redis.pcall('PEXPIRE', mark, MARK_MS))
end
