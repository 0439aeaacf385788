package providers

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" // as Twilio signs
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The fake's account.
const (
	TwilioSID   = "AC00000000000000000000000000000fa4e"
	TwilioToken = "fake-auth-token"
	TwilioFrom  = "+15005550006"
)

// TwilioConfig of a fake.
type TwilioConfig struct {
	Addr   string // "" is a free port of loopback
	Phones *Phones
	Now    func() time.Time
	// Callbacks: it tells the StatusCallback of each message that it was sent and delivered.
	Callbacks bool
}

// Twilio is the REST API for messages.
type Twilio struct {
	service
	// Lists scripts the list of messages; its address is "".
	Lists Script

	server    *server
	callbacks bool
	client    *http.Client
	calls     sync.WaitGroup // callbacks under way
	slots     chan struct{}  // how many there may be
	ctx       context.Context
	stop      context.CancelFunc

	mu       sync.Mutex
	sent     int
	messages []sms // the newest
	listings int
}

type sms struct {
	SID, To, From, Body string
	Created             time.Time
}

// StartTwilio starts it.
func StartTwilio(cfg TwilioConfig) (*Twilio, error) {
	t := &Twilio{
		service: newService(cfg.Phones, cfg.Now), callbacks: cfg.Callbacks, slots: make(chan struct{}, 32),
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2010-04-01/Accounts/{sid}/Messages.json", t.create)
	mux.HandleFunc("GET /2010-04-01/Accounts/{sid}/Messages.json", t.list)
	var err error
	t.server, err = listen(cfg.Addr, mux, nil, nil)
	return t, err
}

// URL is its base address.
func (t *Twilio) URL() string { return t.server.url() }

// Close ends it, after the callbacks under way.
func (t *Twilio) Close() {
	t.stop()
	t.server.close()
	t.calls.Wait()
	t.client.CloseIdleConnections()
}

// Listings is how often the list of messages was asked for.
func (t *Twilio) Listings() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.listings
}

func (t *Twilio) allowed(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == TwilioSID && password == TwilioToken && r.PathValue("sid") == TwilioSID
}

func twilioBody(a Answer) string {
	code, _ := strconv.Atoi(a.Reason)
	return fmt.Sprintf(`{"code":%d,"message":"no","status":%d}`, code, a.Status)
}

func (t *Twilio) create(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	if r.ParseForm() != nil {
		return
	}
	g := t.read(r.PostForm)
	answer, bad := t.check(r)
	if bad {
		answer = t.refuse(g, answer)
	} else {
		// The message is in the list before the answer, whatever that is.
		answer = t.take(g, http.StatusCreated)
	}
	if answer.takes() && !bad {
		t.keep(g, r.PostForm.Get("From"))
		t.tell(r.PostForm.Get("StatusCallback"), g, r.PostForm.Get("From"))
	}
	if !answer.think(r.Context()) {
		return
	}
	if answer.Status == 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"sid":%q,"status":"queued","to":%q}`, g.ID, g.Address)
		return
	}
	answer.write(w, twilioBody(answer))
}

func (t *Twilio) read(form url.Values) Got {
	t.mu.Lock()
	t.sent++
	g := Got{Channel: ChannelSMS, Address: form.Get("To"), ID: fmt.Sprintf("SM%032x", t.sent)}
	t.mu.Unlock()
	if s, err := strconv.Atoi(form.Get("ValidityPeriod")); err == nil {
		g.Expires = t.now().Add(time.Duration(s) * time.Second)
	}
	if !t.phones.counting() {
		g.Body, g.Payload = form.Get("Body"), []byte(form.Encode())
		if at := strings.LastIndexByte(g.Body, '\n'); strings.HasPrefix(g.Body[at+1:], "http") {
			g.URL = g.Body[at+1:]
		}
	}
	return g
}

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{4,14}$`)

func (t *Twilio) check(r *http.Request) (Answer, bool) {
	bad := func(status, code int) (Answer, bool) { return Answer{Status: status, Reason: strconv.Itoa(code)}, true }
	form := r.PostForm
	validity, err := strconv.Atoi(form.Get("ValidityPeriod"))
	switch {
	case !t.allowed(r):
		return bad(401, 20003)
	case !e164.MatchString(form.Get("To")):
		return bad(400, 21211)
	case form.Get("From") == "" && form.Get("MessagingServiceSid") == "":
		return bad(400, 21603)
	case form.Get("Body") == "":
		return bad(400, 21602)
	case utf8.RuneCountInString(form.Get("Body")) > 1600:
		return bad(400, 21617)
	case err != nil || validity < 1 || validity > 36_000:
		return bad(400, 21623)
	}
	return Answer{}, false
}

// messagesKept is how many messages the list holds.
const messagesKept = 10_000

func (t *Twilio) keep(g Got, from string) {
	if t.phones.counting() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, sms{g.ID, g.Address, from, g.Body, t.now()})
	if len(t.messages) > 2*messagesKept {
		t.messages = slices.Clone(t.messages[messagesKept:])
	}
}

func (t *Twilio) list(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	t.listings++
	t.mu.Unlock()
	a := t.Lists.answer("")
	if !a.think(r.Context()) {
		return
	}
	if !t.allowed(r) {
		a = Answer{Status: 401, Reason: "20003"}
	}
	if a.Status != 0 {
		a.write(w, twilioBody(a))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(t.page(r.URL))
}

// page is one of the list, the newest first.
func (t *Twilio) page(u *url.URL) map[string]any {
	q := u.Query()
	size, _ := strconv.Atoi(q.Get("PageSize"))
	page, _ := strconv.Atoi(q.Get("Page"))
	if size < 1 || size > 1000 {
		size = 50
	}
	since, _ := time.Parse(time.DateOnly, q.Get("DateSent>"))
	t.mu.Lock()
	defer t.mu.Unlock()
	found := []map[string]string{}
	skip, more := page*size, false
	for _, m := range slices.Backward(t.messages) {
		if m.To != q.Get("To") || q.Get("From") != "" && m.From != q.Get("From") || m.Created.Before(since) {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if more = len(found) == size; more {
			break
		}
		found = append(found, map[string]string{
			"sid": m.SID, "to": m.To, "from": m.From, "body": m.Body, "status": "sent",
			"date_created": m.Created.UTC().Format(time.RFC1123Z),
		})
	}
	answer := map[string]any{"messages": found, "page": page, "next_page_uri": nil}
	if more {
		q.Set("Page", strconv.Itoa(page+1))
		answer["next_page_uri"] = u.Path + "?" + q.Encode()
	}
	return answer
}

// tell calls the StatusCallback: sent, then delivered. Where too many calls are under
// way it is left out, as callbacks do get lost.
func (t *Twilio) tell(callback string, g Got, from string) {
	if !t.callbacks || callback == "" {
		return
	}
	select {
	case t.slots <- struct{}{}:
	default:
		return
	}
	t.calls.Go(func() {
		defer func() { <-t.slots }()
		for _, status := range []string{"sent", "delivered"} {
			_, _ = t.Post(t.ctx, callback, StatusForm(g.ID, status, g.Address, from, 0))
		}
	})
}

// StatusForm is what Twilio posts when a message's status changed; a code of 0 is none.
func StatusForm(sid, status, to, from string, code int) url.Values {
	form := url.Values{
		"MessageSid": {sid}, "SmsSid": {sid}, "MessageStatus": {status}, "SmsStatus": {status}, "To": {to}, "From": {from},
		"AccountSid": {TwilioSID}, "ApiVersion": {"2010-04-01"},
	}
	if code != 0 {
		form.Set("ErrorCode", strconv.Itoa(code))
	}
	return form
}

// InboundForm is what Twilio posts when somebody wrote, such as STOP or START.
func InboundForm(sid, from, to, body string) url.Values {
	form := url.Values{
		"MessageSid": {sid}, "SmsSid": {sid}, "SmsMessageSid": {sid}, "From": {from}, "To": {to}, "Body": {body},
		"AccountSid": {TwilioSID}, "ApiVersion": {"2010-04-01"}, "NumMedia": {"0"}, "NumSegments": {"1"},
	}
	if word := strings.ToUpper(strings.TrimSpace(body)); word == "STOP" || word == "START" || word == "HELP" {
		form.Set("OptOutType", word)
	}
	return form
}

// Sign is the X-Twilio-Signature of a form posted to a URL.
func Sign(authToken, to string, form url.Values) string {
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	mac := hmac.New(sha1.New, []byte(authToken))
	mac.Write([]byte(to))
	for _, name := range names {
		for _, value := range form[name] {
			mac.Write([]byte(name + value))
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Post posts a signed form, as Twilio does, and returns the status of the answer.
func (t *Twilio) Post(ctx context.Context, to string, form url.Values) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Twilio-Signature", Sign(TwilioToken, to, form))
	res, err := t.client.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// Reply posts what the owner of a number wrote to the sender.
func (t *Twilio) Reply(ctx context.Context, callback, from, body string) (int, error) {
	t.mu.Lock()
	t.sent++
	sid := fmt.Sprintf("SM%032x", t.sent)
	t.mu.Unlock()
	return t.Post(ctx, callback, InboundForm(sid, from, TwilioFrom, body))
}
