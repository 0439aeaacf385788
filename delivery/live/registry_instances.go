package live

import "context"

// Instances is how many instances listen now, all with a registry that is started.
func (r *Registry) Instances(ctx context.Context) (int, error) {
	listening, err := r.cfg.Redis.PubSubNumSub(ctx, allTopic).Result()
	return int(listening[allTopic]), err
}
