-- SPDX-License-Identifier: MIT
-- dismiss: changes that a client will not ask for again.
-- needs: memo

-- Forgets those of the client of a change: numbers in a text. This is the last
-- write, so that a full server has refused the first by now. Returns the answer.
local function dismiss(answer, id, numbers)
    local client, fields = string.match(id, '^(.*:)%d+$') or '', {}
    for number in string.gmatch(numbers, '%d+') do
        fields[#fields + 1] = client .. number
    end
    if #fields > 0 then
        redis.pcall('HDEL', memo.key, unpack(fields))
    end
    return answer
end
