package live

import (
	"testing"
	"time"
)

func TestFiguresOfAnInstanceAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	if i, ok := parseCensus("a", "990 3 5", now); !ok || i.Fans != 3 || i.Sockets != 5 || i.Age != 10*time.Second || i.Own {
		t.Errorf("%+v, %v", i, ok)
	}
	if i, ok := parseCensus("a", "1003 3 5", now); !ok || i.Age != 0 {
		t.Errorf("of a clock ahead: %+v, %v", i, ok)
	}
	for _, value := range []string{"", "990", "990 3", "x 3 5", "990 x 5", "990 3 x", "990 3 5 7"} {
		if i, ok := parseCensus("a", value, now); ok {
			t.Errorf("%q: %+v", value, i)
		}
	}
}

func TestInstancesKnowEachOthersFigures(t *testing.T) {
	forEachRedis(t, func(t *testing.T, url string) {
		a, b := newRegistry(t, url, "a"), newRegistry(t, url, "b")
		a.Connect(1, "x")
		a.Connect(1, "y")
		b.Connect(2, "z")
		for _, r := range []*Registry{a, b} {
			if err := r.noteCensus(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b.Connect(3, "new") // since then
		list, err := b.Census(t.Context())
		if err != nil || len(list) != 2 || list[0].Name != "a" || list[0].Sockets != 2 || list[0].Fans != 1 || list[0].Own {
			t.Fatalf("%+v, %v", list, err)
		}
		if own := list[1]; !own.Own || own.Sockets != 2 || own.Fans != 2 {
			t.Errorf("own: %+v", own)
		}
	})
}
