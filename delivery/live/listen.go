package live

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Listen hands on messages of topics until the subscription fails: subscribed is called when it stands, since messages may
// have been lost before it, and message for each. After patience in silence it is asked whether it lives, and then again. The library would subscribe again by itself, but does not notice a
// connection that died in silence, and says nothing of the messages that were lost meanwhile.
func Listen(ctx context.Context, c redis.UniversalClient, topics []string, patience time.Duration, subscribed func(), message func(payload string)) error {
	sub := c.Subscribe(ctx, topics...)
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	asked := false
	for {
		got, err := sub.ReceiveTimeout(ctx, patience)
		if timedOut(err) && !asked {
			asked, err = true, sub.Ping(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		asked = false
		switch m := got.(type) {
		case *redis.Subscription:
			subscribed()
		case *redis.Message:
			message(m.Payload)
		}
	}
}

func timedOut(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}
