-- Takes up to n permits of a limiter.
-- KEYS[1] the limiter; ARGV: limit, window in µs, n, a text that is unique to this call.
-- Returns the permits granted, and in how many µs there may be one when none was.
local limit, window, n = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
-- A clock that was set back must not forget what it granted.
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] and tonumber(last[2]) > now then
    now = tonumber(last[2])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - window))
local over = redis.call('ZCARD', KEYS[1]) - limit
if over >= 0 then
    -- As many must leave the window as stand over the limit, which may have been lowered, and one more.
    local leaver = redis.call('ZRANGE', KEYS[1], over, over, 'WITHSCORES')
    return {0, tonumber(leaver[2]) + window - now}
end
local granted = math.min(n, -over)
local score = string.format('%.0f', now)
-- Many rows a command: one each takes twice as long. Lua passes some thousands of values at most.
local rows = {}
for i = 1, granted do
    rows[#rows + 1] = score
    rows[#rows + 1] = ARGV[4] .. ':' .. i
    if #rows == 1000 or i == granted then
        redis.call('ZADD', KEYS[1], unpack(rows))
        rows = {}
    end
end
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return {granted, 0}
