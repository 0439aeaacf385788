package embedded

import (
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opt)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestKeysOfTheRedisInsideExpireWithTheClock(t *testing.T) {
	t.Parallel()
	r, err := StartRedis("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	c := client(t, r.URL())
	if err := c.Set(t.Context(), "hold", "1", 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, "the key has expired", func() bool { return c.Exists(t.Context(), "hold").Val() == 0 })
	r.Stop()
	r.Stop()
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	r, err := StartRedis("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	_, err = StartRedis(r.mini.Addr())
	wantSentence(t, err, r.mini.Addr())
}

func TestARedisServerComesBackEmptyAtItsURL(t *testing.T) {
	t.Parallel()
	for _, tcp := range []bool{false, true} {
		r, err := StartRedisServer(t.Context(), RedisConfig{Dir: t.TempDir(), TCP: tcp})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Stop)
		c := client(t, r.URL())
		if err := c.Set(t.Context(), "hold", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		before := r.URL()
		r.Kill()
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.URL() != before {
			t.Errorf("the URL was %s and is %s", before, r.URL())
		}
		if n, err := client(t, r.URL()).DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("%d keys, %v; want none", n, err)
		}
		r.Stop()
		r.Stop()
		if err := r.Restart(t.Context()); err == nil {
			t.Error("a stopped server was restarted")
		}
	}
}

func TestARedisServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals the children of a dead process")
	}
	cmd, pid := startHelper(t, "redis-server", t.TempDir())
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "redis-server has ended", gone(pid))
}
