package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
)

// change is a record of the write-ahead log, of a transaction of the program.
type change struct {
	kind     string // as "Heap INSERT"
	relation string // the table or index
	bytes    int    // without images of whole pages
	version  *int   // the bytes of a row's new version, of an update
	apart    bool   // an entry of a b-tree that its page had no room for
}

// logged is where the write-ahead log ends on disk.
func (b *bench) logged(ctx context.Context) (lsn string, err error) {
	err = b.db.QueryRow(ctx, `SELECT pg_current_wal_flush_lsn()::text`).Scan(&lsn)
	return lsn, err
}

// changes are those of an opening's report and decision, by the transactions that its events name.
func (b *bench) changes(ctx context.Context, from, to string, opening int64) ([]change, error) {
	rows, err := b.db.Query(ctx, `
		SELECT r.resource_manager || ' ' || replace(r.record_type, '+INIT', ''), coalesce(relation::text, ''),
			r.record_length - r.fpi_length, made.lp_len,
			r.resource_manager = 'Btree' AND r.record_type ~ '^SPLIT' AND r.description ~ 'level:? 0'
		FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn) r
		CROSS JOIN LATERAL (SELECT regexp_match(r.block_ref, 'rel (\d+)/\d+/(\d+) fork main blk (\d+)') AS page,
			(regexp_match(r.description, 'new.off:? (\d+)'))[1]::int AS off) at
		CROSS JOIN LATERAL pg_filenode_relation(page[1]::oid, page[2]::oid) relation
		LEFT JOIN LATERAL heap_page_items(CASE WHEN off IS NOT NULL THEN get_raw_page(relation::text, page[3]::int) END) made
			ON made.lp = off
		WHERE r.xid IN (SELECT xid::xid FROM events WHERE opening_no = $3)
		ORDER BY r.start_lsn`, from, to, opening)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c change, err error) {
		err = row.Scan(&c.kind, &c.relation, &c.bytes, &c.version, &c.apart)
		return c, err
	})
}

var (
	aRow   = regexp.MustCompile(`^Heap (INSERT|UPDATE|HOT_UPDATE|DELETE)$`)
	update = regexp.MustCompile(`^Heap (HOT_)?UPDATE$`)
	anItem = regexp.MustCompile(`^(Btree INSERT_(LEAF|POST)|Gin UPDATE_META_PAGE)$`)
	// upkeep is what a page's or a sequence's state asks for, whoever comes by: to split it, to clear it of what is gone, to
	// set numbers aside.
	upkeep = regexp.MustCompile(
		`^(Heap2 (PRUNE\w*|VACUUM|FREEZE_PAGE|VISIBLE)|Btree (SPLIT_[LR]|INSERT_UPPER|INSERT_META|NEWROOT|DEDUP|DELETE|META_CLEANUP)` +
			`|Gin INSERT_LISTPAGE|Sequence LOG)$`)
)

// add counts a seat's changes. An update counts the whole of its new version: the log has only the bytes that differ from the
// old one, and which of a time's do is chance.
func (c *seatCost) add(changes []change) error {
	c.entries = map[entry]int{}
	nth := map[string]int{}
	newPage := map[string]bool{} // GIN indexes whose next entry is on one
	commits := 0
	for _, r := range changes {
		if r.kind == "Transaction COMMIT" {
			commits++
		}
		if aRow.MatchString(r.kind) {
			c.written++
		}
		switch {
		case r.apart || anItem.MatchString(r.kind):
			e := entry{r.relation, nth[r.relation]}
			nth[r.relation]++
			c.addEntry(e, r.bytes, r.apart || newPage[r.relation])
			newPage[r.relation] = false
		case upkeep.MatchString(r.kind):
			newPage[r.relation] = r.kind == "Gin INSERT_LISTPAGE"
			c.upkeep += r.bytes
		case update.MatchString(r.kind):
			if r.version == nil {
				return fmt.Errorf("a version of a row of %s was gone before it could be measured", r.relation)
			}
			c.bytes += *r.version
		default:
			c.bytes += r.bytes
		}
	}
	if commits != 2 {
		return fmt.Errorf("%d transactions, where a report and a decision are expected", commits)
	}
	return nil
}

func (c *seatCost) addEntry(e entry, bytes int, apart bool) {
	if apart {
		c.apart = append(c.apart, e)
		c.upkeep += bytes
		return
	}
	c.entries[e] = bytes
	c.bytes += bytes
}
