-- Brings a fan's connections on one instance up to date, and forgets those that no instance renewed for a lifetime: a
-- killed instance's would otherwise stand as long as the fan is connected elsewhere. Returns all of them when they are
-- too many, one name and value after the other.
-- KEYS: the fan's connections, a hash of connection to "<renewed, s> <instance> <begun, us>", by this clock.
-- ARGV: instance, lifetime in seconds, how many connections a fan may have, how many to set, those, each with its age
-- in us, then those to remove.
local time = redis.call('TIME')
local now = tonumber(time[1])
local us = now * 1000000 + tonumber(time[2])
local ttl = tonumber(ARGV[2])
local last = 4 + 2 * tonumber(ARGV[4])
local all = redis.call('HGETALL', KEYS[1])
local begun = {}
for i = 1, #all, 2 do
  local at, since = string.match(all[i + 1], '^(%d+) %S+ (%d+)$')
  if not at or now - tonumber(at) >= ttl then
    redis.call('HDEL', KEYS[1], all[i])
  else
    begun[all[i]] = since
  end
end
for i = 5, last, 2 do
  local since = begun[ARGV[i]] or string.format('%.0f', us - tonumber(ARGV[i + 1]))
  redis.call('HSET', KEYS[1], ARGV[i], now .. ' ' .. ARGV[1] .. ' ' .. since)
end
for i = last + 1, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
redis.call('EXPIRE', KEYS[1], ttl)
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[3]) then
  return redis.call('HGETALL', KEYS[1])
end
return {}
