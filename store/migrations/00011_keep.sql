-- What is kept for a time is found by its age.

-- +goose Up
CREATE INDEX inbox_visible ON inbox (visible_at);
CREATE INDEX inbox_reads_at ON inbox_reads (read_at);

ALTER TABLE shows
    ADD made_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    ADD dropping_at timestamptz, -- since then nothing is added; its line goes
    ADD dropped_at  timestamptz; -- nothing is left but the show and its openings
CREATE INDEX shows_ended ON shows (starts_at) WHERE dropping_at IS NULL;
CREATE INDEX shows_dropping ON shows (dropping_at) WHERE dropped_at IS NULL;

-- +goose Down
DROP INDEX shows_dropping, shows_ended;
ALTER TABLE shows DROP dropped_at, DROP dropping_at, DROP made_at;
DROP INDEX inbox_reads_at, inbox_visible;
