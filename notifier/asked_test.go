package notifier

import (
	"slices"
	"testing"
)

func TestCallersNameChannelsInAnyOrderAndPushIsThree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  []Channel
		ok    bool
	}{
		{nil, nil, true},
		{[]string{"sms", "live"}, []Channel{"live", "sms"}, true},
		{[]string{"fcm", "push", "fcm"}, []Channel{"apns", "fcm", "webpush"}, true},
		{[]string{"live", "pigeon"}, nil, false},
		{[]string{""}, nil, false},
	} {
		got, ok := ChannelsOf(c.words)
		if !slices.Equal(got, c.want) || ok != c.ok {
			t.Errorf("%q: %q, %t; want %q, %t", c.words, got, ok, c.want, c.ok)
		}
	}
}
