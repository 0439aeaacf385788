package store

// The conditions of waitlist.Telling where a statement has to select by them, in the
// same integers. They stand here alone; statements put them together from turnFacts,
// turnActs and the conditions.

// turnOpens is the SQL of Wave.Opens for a wave w and the turn number k.
func turnOpens(k string) string {
	return `(w.opens_at + ` + k + `::bigint * 1000000 / w.rate * interval '1 millisecond')`
}

// turnCloses is the SQL of Wave.Closes.
func turnCloses(k string) string {
	return `least(` + turnOpens(k) + ` + w.window_s * interval '1 second', w.close_cap)`
}

// turnFacts are the columns that the conditions are about, of turn k of a wave w of an
// opening o with turnActs: opens, closes, final_at, act, acted_at, and claimed, which
// is whether its claim stands at a moment, of an act that is one.
func turnFacts(k, moment string) string {
	return turnOpens(k) + ` AS opens, ` + turnCloses(k) + ` AS closes, o.final_at, a.state AS act, a.at AS acted_at,
		a.state = 'claimed' AND (c.state = 'confirmed' OR c.state = 'held' AND c.expires_at > ` + moment + `) AS claimed`
}

// turnActs joins the act a that ended an entry's turn, and its claim c.
func turnActs(opening, eno string) string {
	return `LEFT JOIN turns a ON a.opening_no = ` + opening + ` AND a.eno = ` + eno + `
		LEFT JOIN claims c ON c.opening_no = ` + opening + ` AND c.eno = ` + eno
}

const (
	// turnPlanned: neither the end of its opening nor of sales came before it opened.
	turnPlanned = `(opens < closes AND (final_at IS NULL OR opens < final_at))`
	// turnWas: nor did an act. It is Telling.Shown from its opening on.
	turnWas = turnPlanned + ` AND (acted_at IS NULL OR acted_at >= opens)`
	// turnCut is Telling.CutShort of one that was.
	turnCut = `(act IS NULL AND final_at < closes)`
)

// turnState is a notifier.TurnState of a turn that was, at a moment.
func turnState(moment string) string {
	return `CASE WHEN claimed THEN 'claimed'
		WHEN act IS NOT NULL OR final_at <= ` + moment + ` OR closes <= ` + moment + ` THEN 'over' ELSE 'open' END`
}
