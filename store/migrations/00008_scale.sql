-- Lines of millions: what is read of one must not grow with it.

-- +goose Up
-- The counts of line_blocks added up: of 32 blocks (bits 15: places >> 15), of 1,024
-- (20), and of the whole line (62: one row for places from 0 on, one for those before).
CREATE TABLE line_sums (
    show_no int NOT NULL,
    bits    smallint NOT NULL,
    block   bigint NOT NULL,
    active  int NOT NULL,
    dormant int NOT NULL,
    PRIMARY KEY (show_no, bits, block)
) WITH (fillfactor = 70);
INSERT INTO line_sums
SELECT show_no, bits, block >> (bits - 10), sum(active), sum(dormant)
FROM line_blocks CROSS JOIN unnest('{15,20,62}'::smallint[]) bits GROUP BY 1, 2, 3;

-- Of those in line some hold, some bought, some left: pages of these, in order.
CREATE INDEX entries_ended ON entries (show_no, state, place) WHERE state <> 'waiting';

-- +goose Down
DROP INDEX entries_ended;
DROP TABLE line_sums;
