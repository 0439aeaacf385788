-- Deliveries: what goes to whom by which channel, the moments at which fans who did
-- not look are told otherwise, and announcements on their way through the line.

-- +goose Up
-- One item for one fan to one address, by its key. The day is the item's, so that a
-- key stays unique for as long as its partition is kept.
CREATE TABLE deliveries (
    day         date NOT NULL,
    key         bytea NOT NULL,
    fan_no      bigint NOT NULL,
    kind        text NOT NULL,
    ref         bigint NOT NULL, -- with kind: the item
    item        text NOT NULL,   -- its id
    lane        text NOT NULL,
    channel     text NOT NULL,
    address_ref text NOT NULL,   -- a device's id, phone, email; '' for live
    -- leased: an attempt is under way until next_at. waiting: the next one is due
    -- at next_at. sent: the provider took it. over: it never will.
    state       text NOT NULL CHECK (state IN ('leased', 'waiting', 'sent', 'over')),
    next_at     timestamptz NOT NULL,
    attempts    int NOT NULL DEFAULT 0,
    unsure      boolean NOT NULL DEFAULT false, -- the last attempt may have been accepted
    provider_id text,
    phase       text NOT NULL,
    phases      jsonb NOT NULL,  -- [{phase, at, reason?}], oldest first
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (day, key)
) PARTITION BY RANGE (day);
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT;
CREATE INDEX deliveries_item ON deliveries (ref, kind, fan_no);
CREATE INDEX deliveries_fan ON deliveries (fan_no, created_at);
CREATE INDEX deliveries_provider ON deliveries (provider_id) WHERE provider_id IS NOT NULL;

-- "See who of these is to be told by now": the turns k_from to k_to - 1 of a wave,
-- or messages. A row of turns moves from step to step.
CREATE TABLE alerts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    step       smallint NOT NULL,
    lane       text NOT NULL,
    opening_no bigint,
    n          int,
    k_from     int,
    k_to       int,
    messages   bigint[],
    moment     timestamptz NOT NULL, -- which the steps are counted from
    latest     timestamptz NOT NULL  -- no step comes later
);
CREATE INDEX alerts_at ON alerts (at);

-- Items that a fan saw on a screen or opened.
CREATE TABLE acks (
    fan_no bigint NOT NULL,
    kind   text NOT NULL,
    ref    bigint NOT NULL,
    at     timestamptz NOT NULL,
    PRIMARY KEY (fan_no, kind, ref)
);
CREATE INDEX acks_at ON acks (at);

-- An announcement on its way through a line by one channel. Entries up to cursor are
-- in a chunk that was queued.
CREATE TABLE blasts (
    announcement_no bigint NOT NULL,
    channel         text NOT NULL,
    cursor          bigint NOT NULL,
    PRIMARY KEY (announcement_no, channel)
);

-- Turns that lapsed without any channel having taken them: no misses.
CREATE TABLE unreached (
    opening_no bigint NOT NULL,
    eno        bigint NOT NULL,
    PRIMARY KEY (opening_no, eno)
);

-- +goose Down
DROP TABLE unreached, blasts, acks, alerts, deliveries;
