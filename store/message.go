package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"fanline/delivery"
	"fanline/notifier"
)

// intake are messages on their way into the database.
type intake struct {
	apiKey string
	list   []notifier.NewMessage
	fans   []int64 // by message
	keys   []notifier.DedupKey
	lasts  []time.Duration
	// mine is where the message of a key stands that may be new: of twins in one
	// request the first.
	mine map[notifier.DedupKey]int
	out  []notifier.Accepted
	now  time.Time
	// fresh are those that are new, in order, with their numbers.
	fresh []int
	nos   []int64
}

// Accept takes messages in: their rows, inbox rows, event and jobs in one
// transaction, a statement each whatever their number. A message whose key is kept
// is the first one with it again. Twins that come at once wait for each other at
// the key's row, which is taken after the fans', in order.
func (s *Store) Accept(ctx context.Context, apiKey string, list []notifier.NewMessage) (accepted []notifier.Accepted, err error) {
	err = untilFansStay(func() error {
		in, err := s.newIntake(ctx, apiKey, list)
		if err != nil {
			return err
		}
		return s.inTxOnce(ctx, "accept messages", func(tx pgx.Tx) (any, int64, error) {
			err := s.accept(ctx, tx, in)
			accepted = in.out
			return in.out, 0, err
		})
	})
	return accepted, err
}

func (s *Store) newIntake(ctx context.Context, apiKey string, list []notifier.NewMessage) (*intake, error) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].FanID
	}
	nos, err := s.fanNos(ctx, ids)
	if err != nil {
		return nil, err
	}
	in := &intake{apiKey: apiKey, list: list, fans: make([]int64, len(list))}
	in.keys, in.lasts = make([]notifier.DedupKey, len(list)), make([]time.Duration, len(list))
	for i := range list {
		in.fans[i] = nos[ids[i]]
		in.keys[i], in.lasts[i] = list[i].Key(apiKey, in.fans[i])
	}
	return in, nil
}

func (s *Store) accept(ctx context.Context, tx pgx.Tx, in *intake) (err error) {
	if len(in.list) == 0 {
		in.out = []notifier.Accepted{}
		return nil
	}
	if in.now, err = keepFans(ctx, tx, slices.Clone(in.fans)); err != nil {
		return err
	}
	in.now = in.now.Truncate(time.Millisecond)
	if err := in.takeKeys(ctx, tx); err != nil {
		return err
	}
	if len(in.fresh) == 0 {
		return nil
	}
	if err := in.insert(ctx, tx); err != nil {
		return err
	}
	if err := s.record(ctx, tx, in.event()); err != nil {
		return err
	}
	return s.route(ctx, tx, in)
}

// takeKeys finds out which messages are new and which are the first one again.
func (in *intake) takeKeys(ctx context.Context, tx pgx.Tx) error {
	in.mine, in.fresh = map[notifier.DedupKey]int{}, nil
	in.out = make([]notifier.Accepted, len(in.list))
	var keys [][]byte
	for i, key := range in.keys {
		in.out[i] = notifier.Accepted{FanNo: in.fans[i], Duplicate: true}
		if _, twin := in.mine[key]; !twin {
			in.mine[key] = i
			keys = append(keys, in.keys[i][:])
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	first, err := in.insertKeys(ctx, tx, keys)
	if err != nil {
		return err
	}
	for i, key := range in.keys {
		f, ok := first[key]
		if !ok {
			return fmt.Errorf("the key of message %d is not kept", i)
		}
		in.out[i].ID = f.id
		if f.taken && in.mine[key] == i {
			in.out[i].Duplicate = false
			in.fresh = append(in.fresh, i)
		}
	}
	return nil
}

// firstOf is the first message of a key; taken says that it is one of these.
type firstOf struct {
	id    string
	taken bool
}

// insertKeys takes those keys that are free or over, in order, and returns the
// first message of each.
func (in *intake) insertKeys(ctx context.Context, tx pgx.Tx, keys [][]byte) (map[notifier.DedupKey]firstOf, error) {
	ids, fans, untils := make([]string, len(keys)), make([]int64, len(keys)), make([]time.Time, len(keys))
	for j, key := range keys {
		i := in.mine[notifier.DedupKey(key)]
		ids[j], fans[j], untils[j] = "ntf_"+rand.Text(), in.fans[i], in.now.Add(in.lasts[i])
	}
	rows, err := tx.Query(ctx, `
		INSERT INTO message_keys (key, id, fan_no, until)
		SELECT key, id, fan, until FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::timestamptz[]) k (key, id, fan, until)
		ORDER BY key
		ON CONFLICT (key) DO UPDATE SET id = excluded.id, until = excluded.until WHERE message_keys.until <= $5
		RETURNING key, id`, keys, ids, fans, untils, in.now)
	if err != nil {
		return nil, err
	}
	first := make(map[notifier.DedupKey]firstOf, len(keys))
	var key []byte
	var id string
	if _, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
		first[notifier.DedupKey(key)] = firstOf{id, true}
		return nil
	}); err != nil || len(first) == len(keys) {
		return first, err
	}
	// A statement of its own: it sees those that were waited for.
	rows, err = tx.Query(ctx, `SELECT key, id FROM message_keys WHERE key = ANY($1)`, keys)
	if err != nil {
		return nil, err
	}
	_, err = pgx.ForEachRow(rows, []any{&key, &id}, func() error {
		if k := notifier.DedupKey(key); !first[k].taken {
			first[k] = firstOf{id: id}
		}
		return nil
	})
	return first, err
}

// insert writes the rows of the new messages, with those of the inboxes, and notes
// their numbers.
func (in *intake) insert(ctx context.Context, tx pgx.Tx) error {
	n := len(in.fresh)
	ids, lanes, types, titles, bodies := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	data, channels, inbox := make([]*string, n), make([]*string, n), make([]bool, n)
	fans, expires := make([]int64, n), make([]time.Time, n)
	for j, i := range in.fresh {
		m := &in.list[i]
		ids[j], fans[j], lanes[j], types[j], titles[j], bodies[j] = in.out[i].ID, in.fans[i], string(m.Lane), m.Type, m.Title, m.Body
		inbox[j], expires[j] = m.Inbox, in.now.Add(m.TTL)
		stale(tx, inboxKey(in.fans[i]))
		if m.Data != nil {
			text := string(m.Data)
			data[j] = &text
		}
		if m.Channels != nil {
			list := channelList(m.Channels)
			channels[j] = &list
		}
	}
	rows, err := tx.Query(ctx, `
		WITH made AS (
			INSERT INTO messages (id, api_key, fan_no, lane, type, title, body, data, channels, inbox, created_at, expires_at)
			SELECT id, $1, fan, lane, type, title, body, data::json, string_to_array(channels, ','), inbox, $2, expires
			FROM unnest($3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bool[],
				$12::timestamptz[]) WITH ORDINALITY m (id, fan, lane, type, title, body, data, channels, inbox, expires, i)
			ORDER BY i RETURNING msg_no, fan_no, created_at, inbox),
		listed AS (
			INSERT INTO inbox (fan_no, kind, ref, visible_at, show_no, eno, seats)
			SELECT fan_no, 'message', msg_no, created_at, 0, 0, 0 FROM made WHERE inbox)
		SELECT msg_no FROM made ORDER BY msg_no`,
		in.apiKey, in.now, ids, fans, lanes, types, titles, bodies, data, channels, inbox, expires)
	in.nos, err = all(rows, err, pgx.RowTo[int64])
	return err
}

func channelList(channels []notifier.Channel) string {
	words := make([]string, len(channels))
	for i, c := range channels {
		words[i] = string(c)
	}
	return strings.Join(words, ",")
}

// event is one row for all, by which instances find the messages of the fans whose
// sockets they hold.
func (in *intake) event() event {
	fans := make([]int64, len(in.fresh))
	for j, i := range in.fresh {
		fans[j] = in.fans[i]
	}
	return event{
		Type: notifier.MessageAccepted, At: in.now, Live: true,
		Data: acceptedMessages{Fans: fans, Messages: in.nos},
	}
}

// route queues the jobs that send the new messages on their way. Urgent ones have two
// more plans from the start, one soon and that of the step after 5 s: a process that
// dies with the first one in hand delays them until then, and not until its jobs are
// missed.
func (s *Store) route(ctx context.Context, tx pgx.Tx, in *intake) error {
	byLane := map[notifier.Lane][]int64{}
	var later []delivery.LaterPlan
	for j, i := range in.fresh {
		m := &in.list[i]
		byLane[m.Lane] = append(byLane[m.Lane], in.nos[j])
		if m.Lane == notifier.Transactional {
			later = delivery.AddLook(later, m.Lane, in.nos[j], in.now, in.now.Add(m.TTL))
			later = delivery.AddLater(later, m.Lane, 2, in.nos[j], in.now, in.now.Add(m.TTL))
		}
	}
	if err := alertMessages(ctx, tx, later); err != nil {
		return err
	}
	var jobs []river.InsertManyParams
	for _, l := range notifier.Lanes {
		jobs = append(jobs, notifier.RouteJobs(l, byLane[l])...)
	}
	return s.queue(ctx, tx, jobs)
}

const messageColumns = `m.msg_no, m.id, m.fan_no, m.lane, m.type, m.title, m.body, m.data, m.channels, m.inbox, m.created_at, m.expires_at, m.erased`

func scanMessage(row pgx.CollectableRow) (m notifier.Message, err error) {
	var at time.Time
	it := &m.Item
	err = row.Scan(&m.No, &m.ID, &m.FanNo, &m.Lane, &it.Type, &it.Title, &it.Body, &it.Data, &m.Channels, &m.Inbox, &at, &m.ExpiresAt, &m.Erased)
	it.ID, it.Kind, it.Lane, it.CreatedAt = notifier.MessageID(m.ID), notifier.KindMessage, m.Lane, notifier.Stamp(at)
	return m, err
}

// Message returns a message by its id.
func (s *Store) Message(ctx context.Context, id string) (notifier.Message, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+messageColumns+` FROM messages m WHERE m.id = $1`, id)
	if err != nil {
		return notifier.Message{}, err
	}
	m, err := pgx.CollectExactlyOneRow(rows, scanMessage)
	return m, notFound(err, "notification", id)
}

// EraseMessageTexts forgets the texts of those of the messages that are
// transactional and not in the inbox, after their last send.
func (s *Store) EraseMessageTexts(ctx context.Context, nos []int64) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE messages SET title = '', body = '', data = NULL, erased = true
		WHERE msg_no = ANY($1) AND lane = 'transactional' AND NOT inbox AND NOT erased`, nos)
	return err
}

// oldMessages is what is over of messages: the texts of transactional ones, from the
// inbox too; keys; and messages as old as items are kept.
var oldMessages = removal{what: "remove old messages", most: 5000, sql: []string{
	`
	WITH over AS (
		UPDATE messages SET title = '', body = '', data = NULL, erased = true WHERE msg_no = ANY(ARRAY(
			SELECT msg_no FROM messages WHERE lane = 'transactional' AND NOT erased AND expires_at <= (SELECT clock_timestamp())
			ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
		RETURNING fan_no, msg_no)
	, unlisted AS (DELETE FROM inbox i USING over o WHERE i.fan_no = o.fan_no AND i.kind = 'message' AND i.ref = o.msg_no)
	, unread AS (DELETE FROM inbox_reads i USING over o WHERE i.fan_no = o.fan_no AND i.kind = 'message' AND i.ref = o.msg_no)
	SELECT FROM over`, `
	DELETE FROM message_keys WHERE key = ANY(ARRAY(
		SELECT key FROM message_keys WHERE until <= (SELECT clock_timestamp() - interval '1 minute')
		ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED))`, `
	WITH old AS (
		DELETE FROM messages WHERE msg_no = ANY(ARRAY(
			SELECT msg_no FROM messages WHERE created_at <= (SELECT clock_timestamp() - ` + itemsKept + `)
			ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED))
		RETURNING fan_no, msg_no)
	, unlisted AS (DELETE FROM inbox i USING old o WHERE i.fan_no = o.fan_no AND i.kind = 'message' AND i.ref = o.msg_no)
	, unread AS (DELETE FROM inbox_reads i USING old o WHERE i.fan_no = o.fan_no AND i.kind = 'message' AND i.ref = o.msg_no)
	SELECT FROM old`,
}}
