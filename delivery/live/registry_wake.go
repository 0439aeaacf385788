package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"fanline/notifier"
)

const (
	wakeMessage    = "wake"
	tooManyMessage = "many "
	// listenPatience is how long a subscription may be silent before it is asked whether it lives, and then again.
	listenPatience = 3 * time.Second
	// awayFor is how long wakes are not tried after one failed: their callers are in a hurry, and the look goes on.
	awayFor = time.Second
)

// errAway is for wakes that were not tried.
var errAway = errors.New("redis did not answer a moment ago")

// WakeFans wakes the instances that hold sockets of these fans: this one directly, others with one message each.
func (r *Registry) WakeFans(ctx context.Context, fans []int64) error {
	if local := r.holds(fans); local != nil {
		local.Wake()
	}
	return r.tell(ctx, fans, wakeMessage)
}

// WakeAll wakes every live instance: this one directly, the others with one message for all.
func (r *Registry) WakeAll(ctx context.Context) error {
	if local := r.here(); local != nil {
		local.Wake()
	}
	return r.unlessAway(ctx, func() error { return r.publish(ctx, []string{allTopic}, wakeMessage) })
}

func (r *Registry) here() Local {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil
	}
	return r.local
}

// tell sends a message to the other instances that hold these fans.
func (r *Registry) tell(ctx context.Context, fans []int64, message string) error {
	return r.unlessAway(ctx, func() error {
		instances, err := r.lookup(ctx, fans)
		var topics []string
		for _, instance := range instances {
			if instance != r.cfg.Instance {
				topics = append(topics, instanceTopic(instance))
			}
		}
		return errors.Join(err, r.publish(ctx, topics, message))
	})
}

// unlessAway spares callers the wait for a Redis that did not answer just now.
func (r *Registry) unlessAway(ctx context.Context, f func() error) error {
	if time.Since(time.Unix(0, r.awayAt.Load())) < awayFor {
		r.errs.Add(1)
		return fmt.Errorf("wake instances: %w", errAway)
	}
	if err := f(); err != nil {
		if ctx.Err() == nil {
			r.awayAt.Store(time.Now().UnixNano())
		}
		return fmt.Errorf("wake instances: %w", err)
	}
	return nil
}

// lookup returns the live instances that hold these fans; with an error, those that were found.
func (r *Registry) lookup(ctx context.Context, fans []int64) ([]string, error) {
	live, _, err := r.holders(ctx, fans)
	return live, err
}

// living keeps those whose lease lives.
func (r *Registry) living(ctx context.Context, held map[string]bool) ([]string, error) {
	var live []string
	err := r.do(ctx, func(ctx context.Context) error {
		cmds := map[string]*redis.IntCmd{}
		_, err := r.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for instance := range held {
				cmds[instance] = p.Exists(ctx, leaseKey(instance))
			}
			return nil
		})
		for instance, cmd := range cmds {
			if cmd.Val() == 1 {
				live = append(live, instance)
			}
		}
		return err
	})
	return live, err
}

func (r *Registry) publish(ctx context.Context, topics []string, message string) error {
	if len(topics) == 0 {
		return nil
	}
	return r.do(ctx, func(ctx context.Context) error {
		_, err := r.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, topic := range topics {
				p.Publish(ctx, topic, message)
			}
			return nil
		})
		if err == nil {
			r.published.Add(int64(len(topics)))
		}
		return err
	})
}

// listenLoop keeps a subscription to what others send.
func (r *Registry) listenLoop(ctx context.Context) {
	fault := notifier.Faults{Log: r.cfg.Log}
	for ctx.Err() == nil {
		err := Listen(ctx, r.cfg.Redis, r.ownTopics(), listenPatience, func() {
			fault.Note(ctx, "", nil)
			r.local.Wake() // wakes may have been lost before it
		}, r.handle)
		fault.Note(ctx, "listen for wakes", err)
		if err != nil {
			r.errs.Add(1)
		}
		notifier.Pause(ctx, 100*time.Millisecond)
	}
}

// handle acts on a message. One of a later release that this one does not know is a wake: that never harms.
func (r *Registry) handle(message string) {
	r.wakes.Add(1)
	if rest, ok := strings.CutPrefix(message, tooManyMessage); ok {
		fan, session, _ := strings.Cut(rest, " ")
		if no, err := strconv.ParseInt(fan, 10, 64); err == nil {
			r.local.TooMany(no, session)
			return
		}
	}
	r.local.Wake()
}
