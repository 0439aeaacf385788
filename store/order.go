package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
)

// The bounds of a replay.
const (
	orderWaves   = 200
	orderMembers = 20_000
	orderOthers  = 5_000 // of each kind of those who may have stood before
)

// OrderFacts reads what some waves of an opening are replayed from.
func (s *Store) OrderFacts(ctx context.Context, ref waitlist.OpeningRef, from int) (f waitlist.OrderFacts, err error) {
	o, err := resolve(ctx, s.pool, ref)
	if err != nil {
		return f, err
	}
	f.Opening = &o
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := orderedWaves(ctx, tx, &f, from); err != nil || len(f.Waves) == 0 {
			return err
		}
		enos, err := concerned(ctx, tx, &f)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT `+entryColumns+` FROM unnest($2::bigint[]) k (eno)
			CROSS JOIN LATERAL (SELECT * FROM entries WHERE show_no = $1 AND eno = k.eno LIMIT 1) e`, o.ShowNo, enos)
		if f.Entries, err = all(rows, err, scanEntry); err != nil {
			return err
		}
		if f.Logs, err = logsOf(ctx, tx, o.ShowNo, enos, f.Waves[0].Decision); err != nil {
			return err
		}
		f.Tellings, err = tellingsIn(ctx, tx, o.ShowNo, enos)
		return err
	})
	return f, err
}

// orderedWaves reads waves that told somebody, and their members as they stand in the
// rows, which a replay must not take for whole.
func orderedWaves(ctx context.Context, q querier, f *waitlist.OrderFacts, from int) error {
	rows, err := q.Query(ctx, `
		SELECT `+waveColumns+` FROM waves w WHERE w.opening_no = $1 AND w.n >= $2 AND w.size > 0
		ORDER BY w.n LIMIT $3`, f.Opening.No, from, orderWaves+1)
	waves, err := all(rows, err, scanWave)
	if err != nil {
		return err
	}
	room := orderMembers
	for i := range waves {
		if room -= waves[i].Size; i > 0 && room < 0 || i == orderWaves {
			f.More = waves[i].N
			break
		}
		f.Waves = append(f.Waves, waitlist.LiveWave{Wave: waves[i]})
	}
	if len(f.Waves) == 0 {
		return nil
	}
	rows, err = q.Query(ctx, `
		SELECT `+memberColumns+` FROM wave_members m WHERE m.opening_no = $1 AND m.n BETWEEN $2 AND $3`,
		f.Opening.No, f.Waves[0].N, f.Waves[len(f.Waves)-1].N)
	list, err := all(rows, err, scanMemberRow)
	if err != nil {
		return err
	}
	members := map[int][]waitlist.Member{}
	for i := range list {
		for j := range list[i].enos {
			members[list[i].n] = append(members[list[i].n], list[i].at(j))
		}
	}
	for i := range f.Waves {
		ms := members[f.Waves[i].N]
		slices.SortFunc(ms, func(a, b waitlist.Member) int { return cmp.Compare(a.K, b.K) })
		f.Waves[i].Members = ms
	}
	return nil
}

// concerned are the numbers of the members, and of all who may have stood before one
// of them without a turn: by groups those who wait before the last place at which
// they fitted in, and those whose entry changed since.
func concerned(ctx context.Context, tx pgx.Tx, f *waitlist.OrderFacts) ([]int64, error) {
	var limits [waitlist.MaxParty + 1]int64
	for party := range limits {
		limits[party] = waitlist.FirstPlace
	}
	var enos []int64
	most := int64(waitlist.FirstPlace)
	for i := range f.Waves {
		for party, place := range f.Waves[i].Limits(f.Opening.Mode) {
			limits[party] = max(limits[party], place)
			most = max(most, place)
		}
		for _, m := range f.Waves[i].Members {
			enos = append(enos, m.EntryNo)
		}
	}
	groups, err := (&source{tx: tx, show: f.Opening.ShowNo}).Groups(ctx)
	if err != nil {
		return nil, err
	}
	var tiers []string
	var parties []int16
	var places []int64
	for _, g := range groups {
		if f.Opening.Takes(g.Tier) && limits[g.Party] > waitlist.FirstPlace {
			tiers, parties, places = append(tiers, g.Tier), append(parties, int16(g.Party)), append(places, limits[g.Party])
		}
	}
	rows, err := tx.Query(ctx, `
		SELECT e.eno FROM unnest($3::text[], $4::smallint[], $5::bigint[]) g (tier, party, place)
		CROSS JOIN LATERAL (SELECT eno, place FROM entries
			WHERE show_no = $1 AND tier = g.tier AND party = g.party AND place < g.place AND state = 'waiting' AND NOT dormant
			OFFSET 0) e -- a join would read all of the line
		LEFT JOIN (SELECT unnest(enos) AS eno FROM wave_members WHERE opening_no = $2 AND n <= $6) t USING (eno)
		WHERE t.eno IS NULL ORDER BY e.place LIMIT $7`,
		f.Opening.ShowNo, f.Opening.No, tiers, parties, places, f.Waves[len(f.Waves)-1].N, orderOthers+1)
	untold, err := all(rows, err, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `
		SELECT DISTINCT eno FROM entry_log WHERE show_no = $1 AND decision >= $2 AND place < $3 LIMIT $4`,
		f.Opening.ShowNo, f.Waves[0].Decision, most, orderOthers+1)
	changed, err := all(rows, err, pgx.RowTo[int64])
	f.Partly = len(untold) > orderOthers || len(changed) > orderOthers
	enos = append(append(enos, untold...), changed...)
	slices.Sort(enos)
	return slices.Compact(enos), err
}

// FanNames are the ids of the fans of entries.
func (s *Store) FanNames(ctx context.Context, showNo int32, enos []int64) (map[int64]string, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT e.eno, f.fan_id FROM unnest($2::bigint[]) k (eno)
		CROSS JOIN LATERAL (SELECT eno, fan_no FROM entries WHERE show_no = $1 AND eno = k.eno LIMIT 1) e
		JOIN fans f USING (fan_no)`, showNo, enos)
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	var eno int64
	var fan string
	_, err = pgx.ForEachRow(rows, []any{&eno, &fan}, func() error { names[eno] = fan; return nil })
	return names, err
}
