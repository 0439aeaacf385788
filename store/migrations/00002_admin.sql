-- Staff: their sessions, failed logins, and the log of what they did.

-- +goose Up
CREATE TABLE staff_sessions (
    key        bytea PRIMARY KEY, -- a hash, from which the token cannot be had
    who        text NOT NULL,
    started_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Logins that were tried and did not succeed, as long as they count.
CREATE TABLE staff_attempts (
    name bytea NOT NULL, -- a hash: what was typed may be a password
    at   timestamptz NOT NULL
);

-- A fan's id stands in fans alone, so that an erased fan is no person here either.
CREATE TABLE audit (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    who        text NOT NULL,
    act        text NOT NULL,
    show_no    int,
    opening_no bigint,
    fan_no     bigint,
    reason     text NOT NULL
);
CREATE INDEX audit_show ON audit (show_no, id);
CREATE INDEX audit_fan ON audit (fan_no, id);

-- +goose Down
DROP TABLE audit, staff_attempts, staff_sessions;
