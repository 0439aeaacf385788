-- Blasts share a channel: each has few chunks under way, named by the entry number
-- they end with.

-- +goose Up
ALTER TABLE blasts ADD COLUMN under_way bigint[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE blasts DROP COLUMN under_way;
