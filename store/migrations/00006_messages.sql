-- Messages, the event stream by days, and those who follow it.

-- +goose Up

-- Days are UTC's. A partition is made beside its parent and then attached, which
-- leaves readers and writers of the others alone; what fell into the default one
-- meanwhile moves over.
-- +goose StatementBegin
CREATE FUNCTION make_partition(parent text, day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := parent || to_char(day, '"_"YYYYMMDD');
    lower text := to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00';
    upper text := to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00';
    key text;
BEGIN
    PERFORM pg_advisory_xact_lock(6, hashtext(parent));
    IF to_regclass(name) IS NOT NULL THEN
        RETURN;
    END IF;
    SELECT a.attname INTO key FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0] WHERE p.partrelid = parent::regclass;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', name, parent);
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
        parent || '_default', key, lower, key, upper, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, lower, upper);
END $$;
-- +goose StatementEnd

CREATE TABLE stream_floor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    -- Where the stream begins: what was dropped lies at or before it.
    xid xid8 NOT NULL DEFAULT '0',
    id  bigint NOT NULL DEFAULT 0
);
INSERT INTO stream_floor DEFAULT VALUES;

ALTER TABLE events RENAME TO events_before;
ALTER INDEX events_live RENAME TO events_before_live;
CREATE TABLE events (LIKE events_before INCLUDING DEFAULTS) PARTITION BY RANGE (at);
ALTER TABLE events ALTER id ADD GENERATED ALWAYS AS IDENTITY;
-- A net under a clock that is wrong and a keeper that does not run.
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE INDEX events_id ON events (id);
CREATE INDEX events_tail ON events (xid, id);
CREATE INDEX events_live ON events (xid, id) WHERE live;
SELECT make_partition('events', day::date) FROM generate_series(
    (clock_timestamp() AT TIME ZONE 'UTC')::date - 14, (clock_timestamp() AT TIME ZONE 'UTC')::date + 3, interval '1 day') day
WHERE day >= (SELECT coalesce(min(at), clock_timestamp()) AT TIME ZONE 'UTC' FROM events_before)::date;
INSERT INTO events OVERRIDING SYSTEM VALUE SELECT * FROM events_before WHERE at > clock_timestamp() - interval '14 days';
SELECT setval(pg_get_serial_sequence('events', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM events_before), false);
UPDATE stream_floor f SET xid = b.xid, id = b.id
FROM (SELECT xid, id FROM events_before WHERE at <= clock_timestamp() - interval '14 days' ORDER BY xid DESC, id DESC LIMIT 1) b;
DROP TABLE events_before;

-- How many turns of a wave the stream was told to have opened.
ALTER TABLE waves ADD opened_done int NOT NULL DEFAULT 0;
UPDATE waves SET opened_done = size;
CREATE INDEX waves_opening ON waves (opens_at) WHERE opened_done < size;

CREATE TABLE messages (
    msg_no     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text NOT NULL UNIQUE,
    api_key    text NOT NULL, -- the key's name
    fan_no     bigint NOT NULL,
    lane       text NOT NULL CHECK (lane IN ('transactional', 'bulk')),
    type       text NOT NULL,
    title      text NOT NULL,
    body       text NOT NULL,
    data       json,
    channels   text[], -- null: as the fan prefers
    inbox      boolean NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    erased     boolean NOT NULL DEFAULT false -- the texts are gone
) WITH (fillfactor = 90);
CREATE INDEX messages_fan ON messages (fan_no);
CREATE INDEX messages_created ON messages (created_at);
-- Texts that go when their time is over.
CREATE INDEX messages_urgent ON messages (expires_at) WHERE lane = 'transactional' AND NOT erased;

-- One message a key, until then.
CREATE TABLE message_keys (
    key        bytea PRIMARY KEY, -- a hash
    id         text NOT NULL,     -- of the first message
    fan_no     bigint NOT NULL,
    until      timestamptz NOT NULL
);
CREATE INDEX message_keys_until ON message_keys (until);
CREATE INDEX message_keys_fan ON message_keys (fan_no);

-- How far those are who follow the stream, and which process does it for them.
CREATE TABLE followers (
    name        text PRIMARY KEY,
    after       text NOT NULL,
    owner       text NOT NULL DEFAULT '',
    lease_until timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE TABLE webhook_endpoints (
    id            text PRIMARY KEY,
    url           text NOT NULL,
    types         text[] NOT NULL, -- empty: all
    secret        bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts      int NOT NULL DEFAULT 0, -- of the event that is due, so far
    next_at       timestamptz NOT NULL DEFAULT '-infinity',
    failing_since timestamptz,
    last_error    text NOT NULL DEFAULT '',
    disabled_at   timestamptz
);

-- +goose Down
DROP TABLE webhook_endpoints, followers, message_keys, messages;
DROP INDEX waves_opening;
ALTER TABLE waves DROP opened_done;
ALTER TABLE events RENAME TO events_parts;
CREATE TABLE events (LIKE events_parts INCLUDING DEFAULTS INCLUDING IDENTITY);
INSERT INTO events OVERRIDING SYSTEM VALUE SELECT * FROM events_parts;
SELECT setval(pg_get_serial_sequence('events', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM events_parts), false);
DROP TABLE events_parts, stream_floor;
ALTER TABLE events ADD PRIMARY KEY (id);
CREATE INDEX events_live ON events (xid, id) WHERE live;
DROP FUNCTION make_partition;
