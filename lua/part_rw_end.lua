-- SPDX-License-Identifier: MIT
-- part_rw_end: ending holds, and serving who waits.
-- Needs: what part_pass needs, part_pass, part_rw_share, part_rw_room.

local ending = {}

-- Gives room that there is to those who wait. Returns as pass.on().
local function serve()
    if not line.is_there() then
        return 0, 0
    end
    local _, more, denied = pass.give()
    return more, denied and 1 or 0
end

-- Ends what share.leave() is told, and serves. The sides take turns only where
-- nobody holds on. Redisson's readers are told of a writer's end also where
-- ours came in: they may, too. Returns as pass.on(): 1 if the call must be
-- repeated, and 1 if the server denied something; or nil and an error, and
-- then nothing has changed.
function ending.of(how, claim)
    local more, degraded
    if not share.leave(how, claim) then
        more, degraded = pass.on()
    else
        line.is_there() -- a queue of the wrong type ends the script here
        local bad = share.free()
        if bad then
            return nil, bad
        end
        more, degraded = serve()
    end
    if more and share.leaving.wrote and share.mode == 'read'
            and others.tell() then
        degraded = 1
    end
    return more, degraded
end

-- Makes the writer a reader for ms, serves, and tells Redisson's readers.
-- Returns as pass.on().
function ending.of_writing(claim, fence, ms)
    line.is_there() -- a queue of the wrong type ends the script here
    local bad = share.turn_to_read(claim, fence, ms)
    if bad then
        return nil, bad
    end
    local more, degraded = serve()
    return more, others.tell() and 1 or degraded
end

-- Serves those who wait where nothing ends but what the dead have left.
-- Returns as pass.on().
function ending.of_nothing()
    if share.mode == 'write' then
        return 0, 0
    elseif share.mode == 'read' and readers.any() ~= false
            or not line.is_there() then
        return serve()
    end
    return ending.of('none')
end
