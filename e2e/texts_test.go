package e2e_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/sim"
	"fanline/sim/providers"
)

// settle waits until nothing more is sent of any urgent message, and every event was.
func (s *spill) settle() {
	s.t.Helper()
	s.until(40*time.Second, "the urgent messages are through", func() bool {
		return s.number(`SELECT count(*) FROM messages WHERE lane = 'transactional' AND NOT erased`) == 0
	})
	s.until(20*time.Second, "the endpoint was told of all events", func() bool {
		list, _ := s.stream()
		return len(s.shop.got()) >= len(list)
	})
}

func TestTextsAddressesAndSecretsStandNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSpill(t)
	s.wantTurn(s.fans["well"], s.say("hall"))
	s.browse()
	s.script()
	s.say("club")
	on := must(sim.Connect(s.ctx, sim.FanConfig{BaseURLs: s.app.BaseURLs(), Token: s.fans["well"].token, Browser: true, Options: []sim.Option{sim.WithHTTPClient(s.http)}}))(t)
	t.Cleanup(on.Close)
	for _, fate := range []string{"well", "refused", "away"} {
		s.send(s.fans[fate])
	}
	s.leave()
	s.mistake()
	s.fail()
	for _, f := range s.fans {
		must(s.app.Call(s.ctx, http.MethodGet, "/v1/fans/"+f.id, nil, nil))(t)
		if status, body := s.ask("GET", "/v1/me/inbox", f.token, ""); status != http.StatusOK || len(s.itemTexts(body)) == 0 {
			t.Errorf("the inbox is answered %d %s", status, body)
		}
	}
	s.all.Close() // whoever is called now has no connection
	s.send(s.fans["unreachable"])
	s.settle()
	for _, token := range s.all.APNs.ProviderTokens() {
		s.add(secretWord, "token that APNs was shown", token)
	}
	s.wantNothingInTheDatabase()
	s.wantNothingInRedis()
	_, told := s.stream()
	s.wantNone(t, "the stream", told, except(fanID)...)
	s.wantNone(t, "the calls of an endpoint", strings.Join(s.shop.got(), "\n"), except(fanID)...)
	_, metrics := s.get("http://" + s.in[0].ops + "/metrics")
	s.wantNone(t, "the metrics", metrics, allKinds...)
	for _, body := range s.refused {
		s.wantNone(t, "the answer to what failed", body, allKinds...)
		if regexp.MustCompile(`(?i)sqlstate|relation|constraint|postgres|pgx|broken`).MatchString(body) {
			t.Errorf("the answer to what failed tells of the inside: %s", body)
		}
	}
	if code := s.in[0].stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log := s.in[0].out.all()
	if !strings.Contains(log, `"msg":"request"`) || !strings.Contains(log, "SQLSTATE") {
		t.Error("the log lacks what it should be searched for")
	}
	s.wantNone(t, "the log", log, allKinds...)
}

// wantTurn waits until a fan was told of a turn by every channel.
func (s *spill) wantTurn(f *somebody, text string) {
	s.t.Helper()
	for channel, to := range f.to {
		if _, err := s.all.Phones.Wait(s.ctx, func(g providers.Got) bool { return g.Accepted && g.Address == to && strings.Contains(g.Body, text) }); err != nil {
			s.t.Fatalf("the turn did not come by %s: %v", channel, err)
		}
	}
}

// wantNothingInTheDatabase searches every column of every table. A fan's id and contact
// stand in one place; texts where what is kept of them is read from.
func (s *spill) wantNothingInTheDatabase() {
	s.t.Helper()
	may := map[string][]kind{
		"fans": {fanID, address}, "devices": {address}, "messages": {keptText}, "announcements": {keptText}, "shows": {keptText},
		"webhook_endpoints": {secretWord}, // what it is called with
	}
	tables := s.rows()
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		s.wantNone(s.t, "table "+table, tables[table], except(may[table]...)...)
	}
	for _, table := range []string{"jobs_seen", "events", "audit", "deliveries"} {
		if tables[table] == "" {
			s.t.Errorf("table %s has nothing to search", table)
		}
	}
}

// wantNothingInRedis searches every command. Excepted are values of the cache, for what
// they are there for: the head of an inbox and an announcement have texts, a show has
// its templates, and a fan's number is found by the id, which instances tell each other
// when it is stale.
func (s *spill) wantNothingInRedis() {
	s.t.Helper()
	cache := regexp.MustCompile(`"fl:cache\d+:[^":]+:([a-z]+):`)
	stale := regexp.MustCompile(`"publish" "fl:cache\d+:`)
	may := map[string][]kind{"i": {keptText}, "n": {keptText}, "s": {keptText}, "f": {fanID}}
	texts := 0
	for _, line := range s.ear.heard() {
		var kinds []kind
		if m := cache.FindStringSubmatch(line); m != nil {
			kinds = may[m[1]]
		} else if stale.MatchString(line) {
			kinds = may["f"]
		}
		s.wantNone(s.t, "Redis", line, except(kinds...)...)
		texts += len(s.itemTexts(line))
	}
	if texts == 0 {
		s.t.Error("no inbox came through Redis")
	}
}

// itemTexts are the texts in an inbox.
func (s *spill) itemTexts(text string) []word { return s.words.of(text, keptText) }
