-- SPDX-License-Identifier: MIT
-- part_cell: what a cell is, and who may change it. Ends the script with an
-- error where the keys are not ours to touch.
-- Needs: part_error.
--
-- cell.version  text; nil: the cell is unset
-- cell.ends     true if it has a TTL
--
-- The mark outlives the cell: "fence" is the highest that ever wrote, "version"
-- the one that was deleted.

local key, memory, mark = KEYS[1], KEYS[2], KEYS[3]
local cell = {}

-- A week after the last fence or delete nobody comes with an earlier one.
local MARK_MS = 604800000

do
    local found = redis.pcall('HMGET', key, 'v', 'version', 'ttl')
    if failed(found) and string.find(found.err, 'WRONGTYPE', 1, true) then
        return redis.error_reply('LKTYPE the key is not a cell')
    elseif failed(found) then
        return found
    elseif found[1] and found[1] ~= '1' then
        return redis.error_reply('LKLAYOUT the name is in use by a release '
            .. 'with another layout of keys')
    end
    cell.version = found[2] or nil
    cell.ends = found[3] == '1'
end
