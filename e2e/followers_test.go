package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"fanline/sim/providers"
)

// happened is an event, as those who follow the stream get it.
type happened struct {
	ID, Type string
	Fan      int64
	FanID    string `json:"fan_id"`
	Data     struct {
		Delivery string `json:"id"`
		Channel  string
		Reason   string
	}
}

// stream is all of /v1/events: the events, and the bodies of its pages.
func (w *world) stream() (list []happened, text string) {
	w.t.Helper()
	after := ""
	for {
		req := must(http.NewRequestWithContext(w.ctx, http.MethodGet, w.in[0].base+"/v1/events?after="+after, nil))(w.t)
		req.Header.Set("Authorization", "Bearer "+apiSecret)
		res := must(w.http.Do(req))(w.t)
		body := must(io.ReadAll(res.Body))(w.t)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			w.t.Fatalf("the stream answers %d %s", res.StatusCode, body)
		}
		if len(body) == 0 {
			return list, text
		}
		text, after = text+string(body), res.Header.Get("Fanline-Next")
		for line := range strings.Lines(string(body)) {
			list = append(list, eventOf(w.t, []byte(line)))
		}
	}
}

func eventOf(t testing.TB, body []byte) (e happened) {
	t.Helper()
	check(t, json.Unmarshal(body, &e))
	return e
}

// receiver is a webhook endpoint that believes only what is signed.
type receiver struct {
	url    string
	secret []byte

	mu     sync.Mutex
	bodies []string
	forged int
}

// receive starts an endpoint that is told of all events from now on. query ends its URL.
func (w *world) receive(id, query string) *receiver {
	w.t.Helper()
	r := &receiver{secret: []byte("a secret of the endpoint " + id)}
	server := httptest.NewServer(r)
	w.t.Cleanup(server.Close)
	r.url = server.URL + "/told" + query
	must(w.app.Call(w.ctx, http.MethodPut, "/v1/webhook-endpoints/"+id, map[string]string{
		"url": r.url, "secret": "whsec_" + base64.StdEncoding.EncodeToString(r.secret),
	}, nil))(w.t)
	return r
}

func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	id, stamp := req.Header.Get("Webhook-Id"), req.Header.Get("Webhook-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute || req.Header.Get("Webhook-Signature") != signature(r.secret, id, stamp, string(body)) {
		r.forged++
		return
	}
	r.bodies = append(r.bodies, string(body))
}

// got are the bodies of the calls so far.
func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// kafkaTopic is the one that tests export to.
const kafkaTopic = "fanline"

// newKafka starts a cluster and returns its address.
func newKafka(t *testing.T) string {
	t.Helper()
	c := must(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, kafkaTopic)))(t)
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
}

// consume reads a topic from its start until all of the events are there, and returns
// each record by its event's id.
func consume(ctx context.Context, t *testing.T, broker string, ids []string) map[string]string {
	t.Helper()
	c := must(kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(kafkaTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())))(t)
	defer c.Close()
	got := map[string]string{}
	missing := func(id string) bool { return got[id] == "" }
	for slices.ContainsFunc(ids, missing) {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("of %v, Kafka has %v alone", ids, got)
		}
		fetches.EachRecord(func(r *kgo.Record) { got[eventOf(t, r.Value).ID] = string(r.Value) })
	}
	return got
}

// What providers call in over HTTP is a phase of the message, and one event for all who
// follow the stream: its readers, a webhook endpoint, and Kafka.
func TestWhatProvidersTellReachesAllWhoFollow(t *testing.T) {
	t.Parallel()
	broker := newKafka(t)
	w, all := newPhones(t, "FANLINE_KAFKA_BROKERS="+broker, "FANLINE_KAFKA_TOPIC="+kafkaTopic)
	endpoint := w.receive("shop", "")
	secrets := w.callbackSecrets()
	w.give("ada", all)

	text := w.notify("ada", "By text", "sms") // Twilio calls back by itself
	mail, push := w.notify("ada", "By mail", "email"), w.notify("ada", "By push", "apns")
	call := func(path, kind, body string) {
		t.Helper()
		if status := w.callBack(path, signed(secrets[kind], "call of "+kind, body), body); status != http.StatusNoContent {
			t.Errorf("%s: %d", path, status)
		}
	}
	call("/v1/callbacks/email", "email", `{"event":"bounced","message_id":"<`+w.becomes(mail, "accepted, sent").ID+`@fanline.example>","bounce":"transient","code":"4.2.2"}`)
	call("/v1/callbacks/push", "push", `{"event":"delivered","delivery":"`+w.becomes(push, "accepted, sent").ID+`"}`)

	want := map[string]happened{} // by delivery
	for id, told := range map[string]struct{ channel, phase, reason string }{
		text: {providers.ChannelSMS, "delivered", ""},
		mail: {providers.ChannelEmail, "bounced", "transient 4.2.2"},
		push: {providers.ChannelAPNs, "delivered", ""},
	} {
		d := w.becomes(id, strings.TrimSpace("accepted, sent, "+told.phase+" "+told.reason))
		e := happened{Type: "delivery." + told.phase, FanID: "ada"}
		e.Data.Delivery, e.Data.Channel, e.Data.Reason = d.ID, told.channel, told.reason
		want[d.ID] = e
	}
	ids := w.wantEvents(want)
	for _, id := range ids {
		w.until(20*time.Second, id+" was sent to the endpoint", func() bool {
			return slices.ContainsFunc(endpoint.got(), func(body string) bool { return eventOf(t, []byte(body)).ID == id })
		})
	}
	for _, body := range endpoint.got() {
		if e := eventOf(t, []byte(body)); slices.Contains(ids, e.ID) {
			wantEvent(t, "the endpoint", e, want[e.Data.Delivery])
		}
	}
	if endpoint.forged != 0 {
		t.Errorf("%d calls of the endpoint had a wrong signature", endpoint.forged)
	}
	exported := consume(w.ctx, t, broker, ids)
	for _, id := range ids {
		e := eventOf(t, []byte(exported[id]))
		named := want[e.Data.Delivery]
		named.FanID = "" // Kafka cannot forget one
		wantEvent(t, "Kafka", e, named)
	}
}

// wantEvents waits until an event of each delivery is in the stream and returns their ids.
func (w *world) wantEvents(want map[string]happened) (ids []string) {
	w.t.Helper()
	w.until(20*time.Second, "the stream has the events", func() bool {
		ids = nil
		list, _ := w.stream()
		for _, e := range list {
			if x, ok := want[e.Data.Delivery]; ok && x.Type == e.Type {
				wantEvent(w.t, "the stream", e, x)
				ids = append(ids, e.ID)
			}
		}
		return len(ids) == len(want)
	})
	return ids
}

// wantEvent compares an event but for its id and the fan's number.
func wantEvent(t testing.TB, who string, got, want happened) {
	t.Helper()
	if got.Fan == 0 {
		t.Errorf("%s was not told of which fan: %+v", who, got)
	}
	if want.ID, want.Fan = got.ID, got.Fan; got != want {
		t.Errorf("%s was told %+v, want %+v", who, got, want)
	}
}
