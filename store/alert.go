package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

const (
	// alertSpan is how far the turns of one alert lie apart at most; never more than
	// one part of alertSpans of their window.
	alertSpan  = 500 * time.Millisecond
	alertSpans = 8
	// alertMost is how many turns one alert has.
	alertMost = notifier.SendMost
	// alertOver is how long ago turns closed whose alert is dropped: that they were
	// told too late is then written down for nobody.
	alertOver = 5 * time.Minute
)

// alertSteps are the moments of an alert: at once, and when those who have not
// looked are told otherwise.
var alertSteps = []time.Duration{0, notifier.PushAfter, notifier.SMSAfter, notifier.EmailAfter}

// queueAlerts writes down when the fans of a wave are to be told who are not
// looking: a row for turns that open close to each other.
func queueAlerts(b *pgx.Batch, w *waitlist.Wave) {
	var ats, latests []time.Time
	var from, to []int32
	for k := 0; k < w.Size; {
		first := w.Opens(k)
		window := w.Closes(k).Sub(first)
		if window <= 0 {
			break // nor are those behind it open ever
		}
		last := first.Add(min(alertSpan, window/alertSpans))
		end := k + 1
		for end < w.Size && end-k < alertMost && !w.Opens(end).After(last) {
			end++
		}
		from, to = append(from, int32(k)), append(to, int32(end))
		ats, latests = append(ats, w.Opens(end-1)), append(latests, first.Add(window/2))
		k = end
	}
	b.Queue(`
		INSERT INTO alerts (at, step, lane, opening_no, n, k_from, k_to, moment, latest)
		SELECT at, 0, 'turns', $1, $2, k_from, k_to, at, latest
		FROM unnest($3::timestamptz[], $4::int[], $5::int[], $6::timestamptz[]) a (at, k_from, k_to, latest)`,
		w.OpeningNo, w.N, ats, from, to, latests)
}

// alertMessages has messages planned again.
func alertMessages(ctx context.Context, tx pgx.Tx, plans []delivery.LaterPlan) error {
	if len(plans) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	for i := range plans {
		p := &plans[i]
		b.Queue(`INSERT INTO alerts (at, step, lane, messages, moment, latest) VALUES ($1, $2, $3, $4, $1, $1)`,
			p.At, p.Step, p.Lane, p.Messages)
	}
	return tx.SendBatch(ctx, b).Close()
}

// alert is a row of alerts.
type alert struct {
	id             int64
	at             time.Time
	step           int
	lane           notifier.Lane
	opening        int64
	n, from, to    int
	messages       []int64
	moment, latest time.Time
	over           bool // all of its turns closed long ago
}

// FireAlerts queues plans for the alerts whose time has come, and moves them on: the
// urgent lanes' first and of each the newest, so that after a long outage those go first
// who still gain by it.
func (s *Store) FireAlerts(ctx context.Context, channels []notifier.Channel, most int) (more bool, err error) {
	err = s.inTx(ctx, "fire alerts", func(tx pgx.Tx) error {
		due, err := dueAlerts(ctx, tx, most)
		if err != nil || len(due) == 0 {
			return err
		}
		perLane := map[notifier.Lane]int{}
		for i := range due {
			perLane[due[i].lane]++
		}
		more = slices.Contains(slices.Collect(maps.Values(perLane)), most)
		if err := moveAlerts(ctx, tx, due, channels); err != nil {
			return err
		}
		var jobs []river.InsertManyParams
		if len(channels) > 0 {
			jobs = planJobs(due)
		}
		return s.queue(ctx, tx, jobs)
	})
	return more, err
}

// dueAlerts are those whose time has come, at most most of each lane.
func dueAlerts(ctx context.Context, tx pgx.Tx, most int) ([]alert, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.id, a.at, a.step, a.lane, coalesce(a.opening_no, 0), coalesce(a.n, 0), coalesce(a.k_from, 0), coalesce(a.k_to, 0),
			a.messages, a.moment, a.latest, coalesce(`+turnCloses("(a.k_to - 1)")+` <= clock_timestamp() - $3::interval, false)
		FROM unnest($2::text[]) WITH ORDINALITY l (lane, i) CROSS JOIN LATERAL (
			SELECT * FROM alerts WHERE lane = l.lane AND at <= (SELECT clock_timestamp())
			ORDER BY at DESC LIMIT $1 FOR UPDATE SKIP LOCKED) a
		LEFT JOIN waves w ON w.opening_no = a.opening_no AND w.n = a.n
		ORDER BY l.i, a.at DESC`, most, notifier.Lanes, alertOver)
	return all(rows, err, func(row pgx.CollectableRow) (a alert, err error) {
		err = row.Scan(&a.id, &a.at, &a.step, &a.lane, &a.opening, &a.n, &a.from, &a.to, &a.messages, &a.moment, &a.latest, &a.over)
		return a, err
	})
}

// planJobs are the plans of alerts. Of turns that closed long ago there is none; messages
// of one step are planned together.
func planJobs(due []alert) []river.InsertManyParams {
	type step struct {
		lane notifier.Lane
		no   int
	}
	var plans []notifier.PlanArgs
	filling := map[step]int{}
	for i := range due {
		a := &due[i]
		if a.over {
			continue
		}
		if a.messages != nil {
			of := step{a.lane, a.step}
			at, ok := filling[of]
			if ok && len(plans[at].Messages)+len(a.messages) <= notifier.SendMost {
				plans[at].Messages = append(plans[at].Messages, a.messages...)
				continue
			}
			filling[of] = len(plans)
		}
		plans = append(plans, a.plan())
	}
	jobs := make([]river.InsertManyParams, len(plans))
	for i := range plans {
		jobs[i] = notifier.PlanJob(plans[i])
	}
	return jobs
}

func (a *alert) plan() notifier.PlanArgs {
	args := notifier.PlanArgs{Lane: a.lane, Opening: a.opening, N: a.n, From: a.from, To: a.to, Messages: a.messages}
	if a.messages != nil {
		args.Step = a.step
	}
	return args
}

// moveAlerts moves alerts to their next step; after the last they are gone.
func moveAlerts(ctx context.Context, tx pgx.Tx, due []alert, channels []notifier.Channel) error {
	var gone, ids []int64
	var ats []time.Time
	var steps []int16
	for i := range due {
		step, at := due[i].next(channels)
		if step == 0 {
			gone = append(gone, due[i].id)
			continue
		}
		ids, ats, steps = append(ids, due[i].id), append(ats, at), append(steps, int16(step))
	}
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM alerts WHERE id = ANY($1)`, gone)
	batch.Queue(`
		UPDATE alerts a SET at = m.at, step = m.step FROM unnest($1::bigint[], $2::timestamptz[], $3::smallint[]) m (id, at, step)
		WHERE a.id = m.id`, ids, ats, steps)
	return tx.SendBatch(ctx, batch).Close()
}

// next is the step that follows and its moment; 0 when there is none. Steps that
// the half of a short window brings together are one, and those of channels without
// a provider are left out. The plan of messages says by itself whether there is more.
func (a *alert) next(channels []notifier.Channel) (step int, at time.Time) {
	if len(channels) == 0 || a.messages != nil || a.over {
		return 0, at
	}
	for step = a.step + 1; step < len(alertSteps); step++ {
		switch {
		case step == 2 && !slices.Contains(channels, notifier.SMS), step == 3 && !slices.Contains(channels, notifier.Email):
			continue
		}
		at = a.moment.Add(alertSteps[step])
		if a.latest.Before(at) {
			at = a.latest
		}
		if at.After(a.at) {
			return step, at
		}
	}
	return 0, at
}
