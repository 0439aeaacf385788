-- Alerts fire lane by lane, the newest first: what gains by it does not wait for what is
-- over.

-- +goose Up
CREATE INDEX alerts_due ON alerts (lane, at);
DROP INDEX alerts_at;

-- +goose Down
CREATE INDEX alerts_at ON alerts (at);
DROP INDEX alerts_due;
