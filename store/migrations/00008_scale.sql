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

-- What the server learns of these columns misleads it: to a show that began since the
-- last ANALYZE it gives no entries, and then takes any index that begins with show_no
-- for as good as the one that leads to a row. And where most are waiting in a party of
-- 2, it skips no index to find those that are, though all in front have left.
ALTER TABLE entries ALTER show_no SET STATISTICS 0, ALTER tier SET STATISTICS 0, ALTER party SET STATISTICS 0,
    ALTER state SET STATISTICS 0, ALTER dormant SET STATISTICS 0;
ALTER TABLE entry_log ALTER show_no SET STATISTICS 0;
ALTER TABLE openings ALTER show_no SET STATISTICS 0;
ALTER TABLE seats ALTER show_no SET STATISTICS 0;
ALTER TABLE waves ALTER show_no SET STATISTICS 0;
ALTER TABLE wave_members ALTER show_no SET STATISTICS 0;
ALTER TABLE claims ALTER show_no SET STATISTICS 0;

-- +goose Down
ALTER TABLE claims ALTER show_no SET STATISTICS -1;
ALTER TABLE wave_members ALTER show_no SET STATISTICS -1;
ALTER TABLE waves ALTER show_no SET STATISTICS -1;
ALTER TABLE seats ALTER show_no SET STATISTICS -1;
ALTER TABLE openings ALTER show_no SET STATISTICS -1;
ALTER TABLE entry_log ALTER show_no SET STATISTICS -1;
ALTER TABLE entries ALTER show_no SET STATISTICS -1, ALTER tier SET STATISTICS -1, ALTER party SET STATISTICS -1,
    ALTER state SET STATISTICS -1, ALTER dormant SET STATISTICS -1;
DROP INDEX entries_ended;
DROP TABLE line_sums;
