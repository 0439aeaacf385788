-- For the staff's pages: what happened today by show, and who guesses passwords from
-- where.

-- +goose Up
CREATE INDEX waves_day ON waves (show_no, decided_at) INCLUDE (size);
CREATE INDEX claims_day ON claims (show_no, claimed_at);
CREATE INDEX shows_starts ON shows (starts_at) WHERE NOT cancelled;
CREATE INDEX events_retired ON events (at) WHERE type = 'device.retired';
CREATE INDEX audit_who ON audit (who, id);

-- Hashes, like the names: an address is a person's, too.
ALTER TABLE staff_attempts ADD COLUMN address bytea NOT NULL DEFAULT '';
CREATE INDEX staff_attempts_at ON staff_attempts (at);
-- From where a name logged in with its password.
CREATE TABLE staff_places (
    name    bytea NOT NULL,
    address bytea NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (name, address)
);

-- +goose Down
DROP TABLE staff_places;
DROP INDEX staff_attempts_at;
ALTER TABLE staff_attempts DROP COLUMN address;
DROP INDEX audit_who, events_retired, shows_starts, claims_day, waves_day;
