package chrometest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// site answers every path with its page, and a POST with what was sent.
func site(t testing.TB, page string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		body := page
		if r.Method == http.MethodPost {
			body = "sent: " + r.PostFormValue("text")
		}
		_, _ = w.Write([]byte(`<!doctype html><title>site</title><link rel="icon" href="data:,"><body>` + body))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// at is a browser at a page of counting.
func at(t *testing.T, page string) *Chrome {
	t.Helper()
	c := New(t)
	c.counting(page)
	return c
}

// counting opens a page that counts the clicks on its button "go", and all others.
func (c *Chrome) counting(page string) {
	c.To(site(c.t, `<script>
		window.counts = { go: 0, other: 0 };
		addEventListener("DOMContentLoaded", () => addEventListener("click", (e) => counts[e.target.id === "go" ? "go" : "other"]++));
	</script>`+page))
}

func (c *Chrome) counts(clicks, other int) {
	c.t.Helper()
	if got := Run[int](c, `counts.go`); got != clicks {
		c.t.Errorf("the button heard %d clicks, want %d", got, clicks)
	}
	if got := Run[int](c, `counts.other`); got != other {
		c.t.Errorf("others heard %d clicks, want %d", got, other)
	}
}

func TestAPressWaitsUntilTheElementCanBePressed(t *testing.T) {
	t.Parallel()
	c := New(t)
	for name, page := range map[string]string{
		"disabled": `<button id="go" disabled>go</button><script>setTimeout(() => go.disabled = false, 300)</script>`,
		"hidden":   `<button id="go" hidden>go</button><script>setTimeout(() => go.hidden = false, 300)</script>`,
		"absent":   `<script>setTimeout(() => document.body.append(Object.assign(document.createElement("button"), { id: "go" })), 300)</script>`,
		"covered":  `<button id="go">go</button><div id="veil" style="position:fixed;inset:0"></div><script>setTimeout(() => veil.remove(), 300)</script>`,
		"far down": `<div style="height:5000px"></div><button id="go">go</button>`,
		"moving": `<div id="above"></div><button id="go">go</button><script>
			const from = Date.now(), grow = () => { above.style.height = Date.now() % 97 + "px"; if (Date.now() - from < 500) requestAnimationFrame(grow); }; grow()</script>`,
	} {
		t.Log(name)
		c.counting(page)
		c.Press("#go")
		c.counts(1, 0)
	}
}

// The page pushes the button down and another into its place, between the looking
// and the click.
func TestAClickThatMissesHitsNothingElseAndIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := at(t, `<div id="above"></div><button id="go">go</button><script>
		let moved = false;
		addEventListener("pointermove", jump, true);
		addEventListener("pointerdown", jump, true);
		function jump() {
			if (moved) return;
			moved = true;
			above.innerHTML = '<button id="leave">leave</button><div style="height:200px"></div>';
		}</script>`)
	c.Press("#go")
	c.counts(1, 0)
}

func TestAButtonThatIsReplacedUnderTheMouseIsPressedOnce(t *testing.T) {
	t.Parallel()
	c := at(t, `<p id="in"><button id="go">go</button></p><script>
		let times = 0;
		addEventListener("mousedown", () => { if (times++ === 0) document.getElementById("in").innerHTML = '<button id="go">go</button>' })</script>`)
	c.Press("#go")
	c.counts(1, 0)
}

func TestEnterComesByTabAndIsHeard(t *testing.T) {
	t.Parallel()
	c := at(t, `<button id="first">first</button><a href="#x">second</a><button id="go">go</button>`)
	c.Enter("#go")
	c.counts(1, 0)
}

func TestALabelIsPressedForItsControl(t *testing.T) {
	t.Parallel()
	c := at(t, `<label style="position:relative"><input type="radio" id="go"><i style="position:absolute;inset:0"></i>choose</label>`)
	c.Press("#go")
	c.Wait(`go.checked`)
}

func TestAFormIsFilledAndSentWithScriptsAndWithout(t *testing.T) {
	t.Parallel()
	for name, mute := range map[string]bool{"with": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := New(t)
			if mute {
				c.WithoutScript()
			}
			c.To(site(t, `<form method="post"><textarea name="text" id="text">old</textarea><button>send</button></form>`))
			c.Fill("text", "two\nlines")
			c.Submit("form button")
			c.Says("sent: two lines")
			c.Sees("sent: two lines")
		})
	}
}

func TestAWaitOutlastsThePageItBeganOn(t *testing.T) {
	t.Parallel()
	c := New(t)
	c.To(site(t, `<script>if (!location.hash) setTimeout(() => { location.hash = "again"; location.reload() }, 100); else window.arrived = { yes: true }</script>`))
	c.Wait(`arrived.yes`) // throws until then
}

func TestWhatTheConsoleSaysIsNotedUnlessAllowed(t *testing.T) {
	t.Parallel()
	c := at(t, `<script>console.warn("careful", 3); setTimeout(() => { throw new Error("thrown") })</script>`)
	for c.console.text() == "nothing" || !strings.Contains(c.console.text(), "thrown") {
		<-time.After(pause)
	}
	for _, word := range []string{`warning "careful" 3`, "Error: thrown"} {
		if !strings.Contains(c.console.text(), word) {
			t.Errorf("%q is not in %s", word, c.console.text())
		}
	}
	if c.console.allows("Error: thrown") {
		t.Error("what nobody allowed is allowed")
	}
	c.Allow("careful", "thrown")
}
