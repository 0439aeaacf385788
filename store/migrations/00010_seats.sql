-- Claims find the lowest free seats, and the seats of a claim, without reading the
-- opening's others.

-- +goose Up
CREATE INDEX seats_free ON seats (opening_no, no) WHERE state = 'free';
CREATE INDEX seats_claim ON seats (claim) WHERE claim IS NOT NULL;

-- +goose Down
DROP INDEX seats_claim, seats_free;
