package live

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// fanConn is a connection of a fan, wherever it is.
type fanConn struct {
	session, instance string
	begun             int64 // by Redis's clock, in microseconds
}

// parseConns reads what the script returned.
func parseConns(all []string) (conns []fanConn) {
	for i := 0; i+1 < len(all); i += 2 {
		words := strings.Fields(all[i+1])
		if len(words) != 3 {
			continue
		}
		begun, err := strconv.ParseInt(words[2], 10, 64)
		if err == nil {
			conns = append(conns, fanConn{all[i], words[1], begun})
		}
	}
	return conns
}

// limit ends the oldest connections of a fan who has too many over all instances, and forgets those of instances that
// are gone. While Redis is away each instance limits its own alone.
func (r *Registry) limit(ctx context.Context, fan int64, all []string) error {
	conns := parseConns(all)
	held := map[string]bool{}
	for _, c := range conns {
		held[c.instance] = true
	}
	live, err := r.living(ctx, held)
	if err != nil {
		return err
	}
	gone := func(c fanConn) bool { return c.instance != r.cfg.Instance && !slices.Contains(live, c.instance) }
	if err := r.forget(ctx, fan, conns, gone); err != nil {
		return err
	}
	conns = slices.DeleteFunc(conns, gone)
	slices.SortFunc(conns, func(a, b fanConn) int {
		return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(a.session, b.session))
	})
	for _, c := range conns[:max(0, len(conns)-r.cfg.PerFan)] {
		if err := r.end(ctx, fan, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Registry) forget(ctx context.Context, fan int64, conns []fanConn, gone func(fanConn) bool) error {
	var fields []string
	for _, c := range conns {
		if gone(c) {
			fields = append(fields, c.session)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return r.do(ctx, func(ctx context.Context) error { return r.cfg.Redis.HDel(ctx, r.fanKey(fan), fields...).Err() })
}

// end ends a connection, here or elsewhere.
func (r *Registry) end(ctx context.Context, fan int64, c fanConn) error {
	if c.instance == r.cfg.Instance {
		if local := r.here(); local != nil {
			local.TooMany(fan, c.session)
		}
		return nil
	}
	message := tooManyMessage + strconv.FormatInt(fan, 10) + " " + c.session
	return r.publish(ctx, []string{instanceTopic(c.instance)}, message)
}
