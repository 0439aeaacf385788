-- Answers to requests with an idempotency key, and what erasing a fan looks for.

-- +goose Up
CREATE TABLE answers (
    id           bytea PRIMARY KEY, -- a hash of who asks and the key
    request      bytea NOT NULL,    -- a hash of what was asked
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    status       smallint NOT NULL, -- 0: begun, by a request of several steps
    content_type text NOT NULL DEFAULT '',
    location     text NOT NULL DEFAULT '',
    retry_after  text NOT NULL DEFAULT '',
    body         text NOT NULL DEFAULT '',
    fans         bigint[] NOT NULL DEFAULT '{}' -- who asked, and whom the answer names
);
CREATE INDEX answers_at ON answers (at);
CREATE INDEX answers_fans ON answers USING gin (fans);

-- What staff wrote may name a fan. Rows with a reason are few.
CREATE INDEX entry_log_reason ON entry_log (id) WHERE reason <> '';
CREATE INDEX claims_reason ON claims (id) WHERE reason <> '';

-- Of which opening staff gave the next turn.
ALTER TABLE entry_log ADD opening_no bigint;

-- The newest waves of a page of openings.
CREATE INDEX waves_newest ON waves (show_no, decision DESC);

-- +goose Down
ALTER TABLE entry_log DROP opening_no;
DROP INDEX waves_newest, claims_reason, entry_log_reason;
DROP TABLE answers;
