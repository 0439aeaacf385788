package live

import (
	"context"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// censusKey is one hash of all instances: each writes its figures with its beat.
const censusKey = "fanline:census"

// censusFor is how long the figures of an instance that went without a word stay.
const censusFor = time.Hour

// InstanceFigures are what one process holds.
type InstanceFigures struct {
	Name    string
	Fans    int // with a socket there
	Sockets int
	// Age is how old the figures are.
	Age time.Duration
	// Own: this process.
	Own bool
}

// figures are this instance's.
func (r *Registry) figures() (fans, sockets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conns := range r.connections {
		sockets += len(conns)
	}
	return len(r.connections), sockets
}

// noteCensus writes this instance's figures.
func (r *Registry) noteCensus(ctx context.Context) error {
	fans, sockets := r.figures()
	value := strings.Join([]string{strconv.FormatInt(time.Now().Unix(), 10), strconv.Itoa(fans), strconv.Itoa(sockets)}, " ")
	return r.do(ctx, func(ctx context.Context) error {
		_, err := r.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.HSet(ctx, censusKey, r.cfg.Instance, value)
			p.Expire(ctx, censusKey, censusFor)
			return nil
		})
		return err
	})
}

// Census are the instances that were heard of within a lease, by name. Its figures
// are as old as a beat; those of this instance are of now, also without Redis.
func (r *Registry) Census(ctx context.Context) ([]InstanceFigures, error) {
	fans, sockets := r.figures()
	list := []InstanceFigures{{Name: r.cfg.Instance, Fans: fans, Sockets: sockets, Own: true}}
	var all map[string]string
	err := r.do(ctx, func(ctx context.Context) (err error) {
		all, err = r.cfg.Redis.HGetAll(ctx, censusKey).Result()
		return err
	})
	var gone []string
	for name, value := range all {
		i, ok := parseCensus(name, value, time.Now())
		if !ok || i.Age > censusFor {
			gone = append(gone, name)
		} else if name != r.cfg.Instance && i.Age <= r.cfg.Lease {
			list = append(list, i)
		}
	}
	if len(gone) > 0 {
		err = r.do(ctx, func(ctx context.Context) error { return r.cfg.Redis.HDel(ctx, censusKey, gone...).Err() })
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, err
}

// parseCensus reads what noteCensus wrote. Clocks of machines differ a little.
func parseCensus(name, value string, now time.Time) (i InstanceFigures, ok bool) {
	parts := strings.Split(value, " ")
	if len(parts) != 3 {
		return i, false
	}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return i, false
	}
	i = InstanceFigures{Name: name, Age: max(0, now.Sub(time.Unix(at, 0)))}
	i.Fans, err = strconv.Atoi(parts[1])
	if err != nil {
		return i, false
	}
	i.Sockets, err = strconv.Atoi(parts[2])
	return i, err == nil
}

// Instances is how many instances listen now, all with a registry that is started.
func (r *Registry) Instances(ctx context.Context) (int, error) {
	listening, err := r.cfg.Redis.PubSubNumSub(ctx, allTopic).Result()
	return int(listening[allTopic]), err
}
