-- The limit in force of a provider, shared by all instances.
-- KEYS[1] the limiter's state; ARGV: configured limit, climb in µs, lower (1) or look (0), pause in µs.
-- Returns the limit in force and for how many µs nothing is to be sent.
local configured, climb, pause = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local was = redis.call('HMGET', KEYS[1], 'n', 'at', 'until')
local n, at, til = tonumber(was[1]) or configured, tonumber(was[2]) or 0, tonumber(was[3]) or 0
local force = math.min(configured, n + math.floor(configured * math.max(0, now - at) / climb))
if ARGV[3] == '1' then
    -- Answers of one burst lower it once.
    if now - at >= 1000000 then
        force, at = math.max(1, math.floor(force / 2)), now
        redis.call('HSET', KEYS[1], 'n', force, 'at', string.format('%.0f', at))
    end
    til = math.max(til, now + pause)
    redis.call('HSET', KEYS[1], 'until', string.format('%.0f', til))
    redis.call('PEXPIRE', KEYS[1], math.ceil((climb + math.max(0, til - now)) / 1000))
end
return {force, math.max(0, til - now)}
