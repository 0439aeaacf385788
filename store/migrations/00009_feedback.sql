-- What services tell of deliveries later, and the daily mail of what is unread.

-- +goose Up
-- Reports of deliveries whose send is not recorded yet: services are quicker than
-- the record of a whole chunk. They are tried again until they are too old.
CREATE TABLE early_reports (
    hash    bytea PRIMARY KEY, -- of the report
    report  jsonb NOT NULL,
    at      timestamptz NOT NULL,
    next_at timestamptz NOT NULL
);
CREATE INDEX early_reports_next ON early_reports (next_at);

-- Calls that have no effect again: nonces, and texts that fans wrote.
CREATE TABLE calls_seen (
    id    bytea PRIMARY KEY, -- a hash
    body  bytea NOT NULL,    -- a hash of what it said
    until timestamptz NOT NULL
);
CREATE INDEX calls_seen_until ON calls_seen (until);

-- How many deliveries came to what, by day (of UTC) and channel, as services told.
-- Slots keep reports that come at once from waiting for each other.
CREATE TABLE report_counts (
    day     date NOT NULL,
    channel text NOT NULL,
    what    text NOT NULL, -- delivered, failed, bounced, opened, complained
    slot    smallint NOT NULL,
    n       bigint NOT NULL,
    PRIMARY KEY (day, channel, what, slot)
) WITH (fillfactor = 50);

INSERT INTO secrets (name, value)
VALUES ('callbacks', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- Fans who want a digest, by the hours at which they do.
CREATE INDEX fans_digest ON fans (time_zone, digest_hour, fan_no) WHERE digest_hour IS NOT NULL;

-- The digests of one day and hour of a zone on their way through their fans. Those
-- numbered up to cursor are in a chunk that was queued.
CREATE TABLE digest_runs (
    day       date NOT NULL, -- of the zone
    time_zone text NOT NULL,
    hour      smallint NOT NULL,
    cursor    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day, time_zone, hour)
);

-- One digest a fan and day of theirs. It stands before anything is sent; what became
-- of it is its delivery's.
CREATE TABLE digests (
    digest_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fan_no    bigint NOT NULL,
    day       date NOT NULL,
    at        timestamptz NOT NULL, -- it has what came up to then
    since     timestamptz NOT NULL, -- and after that
    UNIQUE (fan_no, day)
);
CREATE INDEX digests_at ON digests (at);

-- +goose Down
DROP TABLE digests, digest_runs;
DROP INDEX fans_digest;
DELETE FROM secrets WHERE name = 'callbacks';
DROP TABLE report_counts, calls_seen, early_reports;
