package live

import (
	"context"
	_ "embed"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/notifier"
)

// How many fans one exchange with Redis is for: scripts are slow in a Redis inside the process, a thousand or two a second.
const (
	lookupChunk = 1000
	flushChunk  = 200
)

//go:embed register.lua
var registerScript string

// One key a command: on a cluster each may live elsewhere.
func (r *Registry) fanKey(fanNo int64) string {
	return "fanline:fan:" + r.cfg.Database + ":" + strconv.FormatInt(fanNo, 10)
}

func leaseKey(instance string) string   { return "fanline:instance:" + instance }
func instanceTopic(inst string) string  { return "fanline:wake:" + inst }
func (r *Registry) ownTopics() []string { return []string{instanceTopic(r.cfg.Instance), allTopic} }
func leaseValue(now time.Time) string   { return strconv.FormatInt(now.Unix(), 10) }
func seconds(d time.Duration) int       { return int(d / time.Second) }

const allTopic = "fanline:wake"

// beatLoop renews the lease, and has the fans written anew each Refresh, or at once when the lease was lost: a Redis that
// was emptied heals in a Beat.
func (r *Registry) beatLoop(ctx context.Context) {
	tick := time.NewTicker(r.cfg.Beat)
	defer tick.Stop()
	for {
		r.fault.Note(ctx, "renew the lease of this instance", r.beat(ctx))
		r.fault.Note(ctx, "tell this instance's figures", r.noteCensus(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Registry) beat(ctx context.Context) error {
	kept, err := r.renew(ctx)
	if err == nil && (!kept || time.Since(r.refreshed) >= r.cfg.Refresh) {
		r.markAll()
		r.refreshed = time.Now()
	}
	return err
}

// renew says whether the lease was still there.
func (r *Registry) renew(ctx context.Context) (kept bool, err error) {
	err = r.do(ctx, func(ctx context.Context) error {
		key, now := leaseKey(r.cfg.Instance), leaseValue(time.Now())
		err := r.cfg.Redis.SetArgs(ctx, key, now, redis.SetArgs{Mode: "XX", TTL: r.cfg.Lease}).Err()
		kept = err == nil
		if errors.Is(err, redis.Nil) {
			return r.cfg.Redis.Set(ctx, key, now, r.cfg.Lease).Err()
		}
		return err
	})
	return kept, err
}

// markAll has every fan written.
func (r *Registry) markAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for fan := range r.connections {
		r.markDirty(fan)
	}
}

// flushLoop writes what is dirty. It is the only one that does, so that what it writes last is what holds.
func (r *Registry) flushLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.flush:
		}
		for r.dirtyCount() > 0 {
			err := r.flushSome(ctx)
			r.fault.Note(ctx, "write connections", err)
			if err != nil && !notifier.Pause(ctx, r.cfg.Timeout) {
				return
			}
		}
	}
}

// flushSome writes a chunk. What fails is dirty again.
func (r *Registry) flushSome(ctx context.Context) error {
	taken := r.take()
	found := map[int64]*redis.Cmd{}
	err := r.do(ctx, func(ctx context.Context) error {
		_, err := r.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for fan, args := range taken {
				found[fan] = p.Eval(ctx, registerScript, []string{r.fanKey(fan)}, args.argv...)
			}
			return nil
		})
		return err
	})
	if err != nil {
		r.giveBack(taken)
		return err
	}
	for fan, cmd := range found {
		if all, err := cmd.StringSlice(); err == nil && len(all) > 0 {
			r.fault.Note(ctx, "end the oldest of too many connections", r.limit(ctx, fan, all))
		}
	}
	return nil
}

// change is what is written for one fan.
type change struct {
	argv   []any
	remove []string
}

// take takes up to a chunk of dirty fans, with what they are now.
func (r *Registry) take() map[int64]change {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := make(map[int64]change, min(len(r.dirty), flushChunk))
	for fan, remove := range r.dirty {
		if len(taken) == flushChunk {
			break
		}
		taken[fan] = change{r.argv(fan, remove), remove}
		delete(r.dirty, fan)
		r.removed -= len(remove)
	}
	r.removed = max(r.removed, 0)
	return taken
}

// argv is the script's; mu is held.
func (r *Registry) argv(fan int64, remove []string) []any {
	conns := r.connections[fan]
	argv := []any{r.cfg.Instance, seconds(r.cfg.FanTTL), r.cfg.PerFan, len(conns)}
	for id, since := range conns {
		argv = append(argv, id, time.Since(since).Microseconds())
	}
	for _, id := range remove {
		argv = append(argv, id)
	}
	return argv
}

func (r *Registry) giveBack(taken map[int64]change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for fan, c := range taken {
		r.removed += len(c.remove)
		r.markDirty(fan, c.remove...)
	}
}
