package live

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Online returns those of the fans who are connected, to this instance or to a
// live one; with an error, those of whom it is known.
func (r *Registry) Online(ctx context.Context, fans []int64) (map[int64]bool, error) {
	online := map[int64]bool{}
	r.mu.Lock()
	for _, fan := range fans {
		if len(r.connections[fan]) > 0 {
			online[fan] = true
		}
	}
	r.mu.Unlock()
	err := r.unlessAway(ctx, func() error {
		live, on, err := r.holders(ctx, fans)
		for fan, instances := range on {
			for _, instance := range live {
				online[fan] = online[fan] || instances[instance]
			}
		}
		return err
	})
	return online, err
}

// holders returns the live instances that hold these fans, and on which instances
// each has a connection; with an error, those that were found.
func (r *Registry) holders(ctx context.Context, fans []int64) (live []string, on map[int64]map[string]bool, err error) {
	on = map[int64]map[string]bool{}
	held := map[string]bool{}
	for len(fans) > 0 && err == nil {
		n := min(len(fans), lookupChunk)
		err = r.instancesOf(ctx, fans[:n], on, held)
		fans = fans[n:]
	}
	if len(held) == 0 {
		return nil, nil, err
	}
	live, err2 := r.living(ctx, held)
	return live, on, errors.Join(err, err2)
}

// instancesOf adds the instances on which fans have a connection, and all of them
// to held.
func (r *Registry) instancesOf(ctx context.Context, fans []int64, on map[int64]map[string]bool, held map[string]bool) error {
	return r.do(ctx, func(ctx context.Context) error {
		cmds := make([]*redis.StringSliceCmd, len(fans))
		_, err := r.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, fan := range fans {
				cmds[i] = p.HVals(ctx, r.fanKey(fan))
			}
			return nil
		})
		for i, cmd := range cmds {
			for _, v := range cmd.Val() {
				words := strings.Fields(v)
				if len(words) != 3 {
					continue
				}
				if on[fans[i]] == nil {
					on[fans[i]] = map[string]bool{}
				}
				on[fans[i]][words[1]], held[words[1]] = true, true
			}
		}
		return err
	})
}
