-- SPDX-License-Identifier: MIT
-- renew: lengthen the leases of many holds at once. Each key has a text: the void
-- claims `-` and the claim, and behind them a lock the claim. One that is asked for
-- without the other is looked at by itself.
--
-- code: 0 nobody holds, 2 another does, 4 it was revoked.
--
-- Invariants: a TTL is only lengthened, a key is never made. A claim that is found
-- void is not renewed. One name does not keep another from being renewed, whatever
-- its key holds. A full server does not refuse it.
-- needs: failed lengthen void

local lost, voided = {}, {}

local function lose(index, code)
    lost[#lost + 1], lost[#lost + 2] = group.lost({index = index, code = code})
end

-- Why a hold is lost; nil: it is not. Or nil and an error.
local function look(lock, claim)
    local holder = redis.pcall('GET', lock)
    if failed(holder) and not string.find(holder.err, 'WRONGTYPE', 1, true) then
        return nil, holder
    elseif holder ~= claim then
        return holder and 2 or 0
    end
    return nil
end

-- Lengthens one, or loses it; returns an error or nil.
local function renew(index, claim)
    local code, bad = look(KEYS[index], claim)
    if code then
        lose(index, code)
        return nil
    end
    return bad or failed(lengthen(KEYS[index], tonumber(lease)))
end

for i = 1, #KEYS do
    local text = ARGV[first_of_claims + i - 1]
    local claim = string.match(text, '^%-(.*)')
    local bad
    if not claim then
        bad = not voided[text] and renew(i, text)
    elseif void.has(KEYS[i], claim) then
        voided[claim] = true
        lose(i, 4)
    end
    if bad then
        return bad
    end
end
return {RENEWED, lost}
