package delivery

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"fanline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

func dialRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opt.ContextTimeoutEnabled = true
	c := redis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
