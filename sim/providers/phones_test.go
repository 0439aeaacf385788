package providers

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLogIsBoundedAndTheCountsAreNot(t *testing.T) {
	t.Parallel()
	p := NewPhones(PhonesConfig{Keep: 10})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			p.note(Got{Channel: ChannelAPNs, Address: fmt.Sprint(i % 5), Key: fmt.Sprint(i % 10), Accepted: i%2 == 0})
		})
	}
	wg.Wait()
	if c := p.Counts(); c.Accepted != 50 || c.Refused != 50 || c.Addresses != 5 || len(p.Log()) != 10 {
		t.Errorf("%+v, %d in the log", c, len(p.Log()))
	}
	if n, shown := p.Accepted(ChannelAPNs, "0"), p.Shown(ChannelAPNs, "0"); n != 10 || shown != 1 {
		t.Errorf("address 0 got %d, shows %d", n, shown)
	}
}

func TestTheNewestOfTheLogStays(t *testing.T) {
	t.Parallel()
	p := NewPhones(PhonesConfig{Keep: 3})
	for i := range 5 {
		p.note(Got{Address: fmt.Sprint(i)})
	}
	log := p.Log()
	if len(log) != 3 || log[0].Address != "2" || log[2].Address != "4" {
		t.Errorf("%+v", log)
	}
}

func TestCountingAloneKeepsNoTexts(t *testing.T) {
	t.Parallel()
	p := NewPhones(PhonesConfig{Keep: -1})
	p.note(Got{Channel: ChannelFCM, Address: "a", Key: "k", Accepted: true})
	if p.Accepted(ChannelFCM, "a") != 1 || len(p.Log()) != 0 {
		t.Error("it does not count, or keeps a log")
	}
}

func TestWaitingEndsWithTheSendOrTheContext(t *testing.T) {
	t.Parallel()
	p := NewPhones(PhonesConfig{})
	got := make(chan Got)
	go func() {
		g, _ := p.Wait(t.Context(), func(g Got) bool { return g.Address == "b" })
		got <- g
	}()
	p.note(Got{Address: "a"})
	p.note(Got{Address: "b"})
	if g := <-got; g.Address != "b" {
		t.Errorf("%+v", g)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ended, func(Got) bool { return false }); err == nil {
		t.Error("it waited without end")
	}
}

func TestAnswersComeInTheOrderOfTheScript(t *testing.T) {
	t.Parallel()
	var s Script
	s.Next("a", Answer{Status: 1}, Answer{Status: 2})
	s.Next("", Answer{Status: 3})
	s.Always("a", Answer{Status: 4})
	s.Always("", Answer{Status: 5})
	for i, want := range []int{1, 2, 3, 4, 4} {
		if got := s.answer("a").Status; got != want {
			t.Errorf("answer %d: %d, want %d", i, got, want)
		}
	}
	if got := s.answer("b").Status; got != 5 {
		t.Errorf("any other address: %d", got)
	}
	s.Clear()
	if got := s.answer("a").Status; got != 0 {
		t.Errorf("after Clear: %d", got)
	}
}

// The example of Twilio's own documentation.
func TestASignatureIsTwilios(t *testing.T) {
	t.Parallel()
	form := url.Values{
		"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+12349013030"}, "Digits": {"1234"}, "From": {"+12349013030"}, "To": {"+18005551212"},
	}
	got := Sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form)
	if want := "0/KCTR6DLpKmkAf8muzZqo1nDgQ="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
