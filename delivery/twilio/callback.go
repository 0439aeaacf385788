package twilio

import (
	"crypto/hmac"
	"crypto/sha1" // as Twilio signs
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fanline/delivery"
	"fanline/notifier"
)

// Calls knows the calls that Twilio makes: what became of messages, and what fans
// wrote back. They are signed with the account's token over the address that Twilio
// was given, whatever proxies lie between: no header says where a call came to.
//
// Twilio's calls have no time and no nonce. An old one that comes again is harmless
// since phases never go back, and a fan's text counts once by its id.
type Calls struct {
	cfg  Config
	urls []string // of the callback, with the port and without, in Twilio's two ways
}

// NewCalls needs Callback of cfg, and what New does.
func NewCalls(cfg Config) (*Calls, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(cfg.Callback)
	if cfg.Callback == "" || err != nil {
		return nil, delivery.BadSetting("Callback", "must be an http or https address")
	}
	c := &Calls{cfg: cfg, urls: []string{cfg.Callback}}
	port := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	switch u.Port() {
	case "":
		u.Host += ":" + port
		c.urls = append(c.urls, u.String())
	case port:
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
		c.urls = append(c.urls, u.String())
	}
	return c, nil
}

// Read takes a call apart that Twilio made.
func (c *Calls) Read(_ time.Time, call *delivery.Call) (told delivery.Told, err error) {
	form, ok := c.genuine(call)
	if !ok || form.Get("AccountSid") != c.cfg.AccountSID {
		return told, delivery.ErrNotGenuine
	}
	sid := form.Get("MessageSid")
	if !messageSID.MatchString(sid) {
		return told, nil // of another product
	}
	if status := form.Get("MessageStatus"); status != "" {
		told.Report = c.report(sid, status, form)
		return told, nil
	}
	told.Wish = c.wish(sid, form)
	return told, nil
}

var messageSID = regexp.MustCompile(`^[A-Z]{2}[A-Za-z0-9]{1,62}$`)

// genuine returns the parameters of a call whose signature is right.
func (c *Calls) genuine(call *delivery.Call) (url.Values, bool) {
	given := call.Header.Values("X-Twilio-Signature")
	if len(given) != 1 || given[0] == "" {
		return nil, false
	}
	form, signed, ok := read(call)
	if !ok {
		return nil, false
	}
	query := ""
	if call.Query != "" {
		query = "?" + call.Query
	}
	genuine := false
	for _, u := range c.urls {
		mac := hmac.New(sha1.New, []byte(c.cfg.AuthToken))
		mac.Write([]byte(u + query + signed))
		want := base64.StdEncoding.EncodeToString(mac.Sum(nil))
		genuine = hmac.Equal([]byte(want), []byte(given[0])) || genuine
	}
	return form, genuine
}

// read returns the parameters of a call, and what of them is signed behind the
// address. Those of a JSON body are signed by its hash, which the address holds.
func read(call *delivery.Call) (form url.Values, signed string, ok bool) {
	query, err := url.ParseQuery(call.Query)
	if err != nil {
		return nil, "", false
	}
	kind, _, _ := mime.ParseMediaType(call.Header.Get("Content-Type"))
	if sums := query["bodySHA256"]; kind == "application/json" || len(sums) > 0 {
		sum := sha256.Sum256(call.Body)
		if len(sums) != 1 || !hmac.Equal([]byte(strings.ToLower(sums[0])), []byte(hex.EncodeToString(sum[:]))) {
			return nil, "", false
		}
		return readJSON(call.Body), "", true
	}
	if form, err = url.ParseQuery(string(call.Body)); err != nil {
		return nil, "", false
	}
	return form, sorted(form), true
}

func readJSON(body []byte) url.Values {
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // genuine, but of no use: it says nothing
	form := url.Values{}
	for name, v := range fields {
		switch v := v.(type) {
		case string:
			form.Set(name, v)
		case float64:
			form.Set(name, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return form
}

// sorted are names and values as Twilio signs them.
func sorted(form url.Values) string {
	names := make([]string, 0, len(form))
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			b.WriteString(name + v)
		}
	}
	return b.String()
}

// phases are what a message's states mean. Those that come before sent are
// no news: Twilio took it already.
var phases = map[string]notifier.Phase{
	"sent": notifier.PhaseSent, "delivered": notifier.PhaseDelivered, "read": notifier.PhaseOpened,
	"undelivered": notifier.PhaseFailed, "failed": notifier.PhaseFailed, "canceled": notifier.PhaseFailed,
}

// verdicts of the codes that come later. All others say nothing about the number:
// 30003 unreachable for now, 30004 blocked, 30005 unknown, 30007 filtered, 30008
// unknown.
var verdicts = map[int]delivery.Outcome{
	30001: delivery.Throttled,   // queue overflow
	30006: delivery.AddressDead, // a landline
	21211: delivery.AddressDead,
	21614: delivery.AddressDead,
	21610: delivery.OptedOut,
}

func (c *Calls) report(sid, status string, form url.Values) *delivery.Report {
	phase, ok := phases[status]
	if !ok {
		return nil
	}
	r := &delivery.Report{Channels: []notifier.Channel{notifier.SMS}, ProviderID: sid, Phase: phase}
	if phase != notifier.PhaseFailed {
		return r
	}
	r.Reason = status
	if code, err := strconv.Atoi(form.Get("ErrorCode")); err == nil && code > 0 {
		r.Reason += " " + strconv.Itoa(code)
		r.Verdict, r.Sender = verdicts[code], c.cfg.From
	}
	if to := form.Get("To"); number.MatchString(to) {
		r.Address = to
	}
	return r
}

// The words that Twilio itself acts on.
var (
	stopWords  = []string{"STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT"}
	startWords = []string{"START", "YES", "UNSTOP"}
)

// wish is what a fan wrote; nil where it is no word that counts, such as HELP, which
// Twilio answers.
func (c *Calls) wish(sid string, form url.Values) *delivery.Wish {
	from := form.Get("From")
	if !number.MatchString(from) {
		return nil
	}
	word := strings.ToUpper(strings.TrimSpace(form.Get("Body")))
	if kind := strings.ToUpper(form.Get("OptOutType")); kind != "" {
		word = kind // Twilio's own reading, in the account's languages
	}
	stop := slices.Contains(stopWords, word)
	if !stop && !slices.Contains(startWords, word) {
		return nil
	}
	return &delivery.Wish{ID: sid, Channel: notifier.SMS, Address: from, Sender: c.wroteTo(form), Stop: stop}
}

// wroteTo is the sender that a fan wrote to: ours, by its number or its service, or
// another one of the account.
func (c *Calls) wroteTo(form url.Values) string {
	to, service := form.Get("To"), form.Get("MessagingServiceSid")
	switch {
	case to == c.cfg.From || service == c.cfg.From:
		return c.cfg.From
	case service != "":
		return service
	}
	return to
}
