-- Announcements: a row each, whatever the line's length. Under strategy write there
-- is an inbox row for each fan besides; under read it is worked out who was in the
-- line at its decision.

-- +goose Up
CREATE TABLE announcements (
    announcement_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    show_no         int NOT NULL REFERENCES shows,
    announcement_id text NOT NULL,
    fingerprint     bytea NOT NULL, -- what makes another one the same
    strategy        text NOT NULL CHECK (strategy IN ('write', 'read')),
    decision        bigint NOT NULL, -- it saw what the decisions up to this one did not
    at              timestamptz NOT NULL,
    title           text NOT NULL,
    body            text NOT NULL,
    data            json,
    channels        text[], -- null: as the fans prefer
    UNIQUE (show_no, announcement_id)
);
CREATE INDEX announcements_read ON announcements (show_no, at) WHERE strategy = 'read';

-- Those in line who sleep, so that all of a line are found by index.
CREATE INDEX entries_asleep ON entries (show_no, eno) INCLUDE (fan_no) WHERE state = 'waiting' AND dormant;

-- The number of what an event is about that is neither an opening nor a wave.
ALTER TABLE events ADD ref bigint;

-- +goose Down
ALTER TABLE events DROP ref;
DROP INDEX entries_asleep;
DROP TABLE announcements;
