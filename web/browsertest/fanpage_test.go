package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"fanline/notifier"
)

// fanPage opens a fan's page and waits until it is live.
func (h *house) fanPage(fan string) *chrome {
	h.t.Helper()
	c := newChrome(h.t)
	c.Allow("webpush-key") // there is none in this house
	c.open(h, fan)
	return c
}

func TestASeatThatOneFanPassesOnGoesToTheNext(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben", "cleo")
	ada, ben := h.fanPage("ada"), h.fanPage("ben")
	ada.heads("You are first in line")
	ben.Wait(`document.getElementById("position")?.textContent === "2"`)
	h.free("club", "o1")
	ada.heads("Your turn")
	ada.Wait(`/^(10:00|9:\d\d)$/.test(document.querySelector(".ring text").textContent)`)
	before := run[string](ada, `document.querySelector(".ring text").textContent`)
	ada.Wait(`document.querySelector(".ring text").textContent !== %s`, before)
	ada.Wait(`/^Your turn for Tuesday night. You have until \d\d:\d\d\.$/.test(document.getElementById("say").textContent)`)
	if text := ben.Text(); run[bool](ben, `document.getElementById("take") !== null`) {
		t.Errorf("ben may take what is ada's:\n%s", text)
	}
	ada.Press("#pass")
	ada.Sees("Passed on to the next fan.")
	ada.heads("You are first in line")
	ben.heads("Your turn")
	ben.Press("#take")
	ben.heads("Held for you")
	ben.Press("#pay")
	ben.heads("It is yours")
	ben.Sees("You have your seats for Tuesday night, and have left its line.")
	if r := h.reason("club", "o1", "ben"); r != "confirmed" {
		t.Errorf("ben's verdict is %s", r)
	}
	if r := h.reason("club", "o1", "ada"); r != "turn_declined" {
		t.Errorf("ada's verdict is %s", r)
	}
	ben.Press("#join")
	ben.Wait(`document.getElementById("position")?.textContent === "3"`)
}

func TestAServerRestartUnderAnOpenPageLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.fanPage("ada")
	c.Allow("WebSocket connection to", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET")
	listed := func() []string {
		return run[[]string](c, `[...document.querySelectorAll("#inbox li")].map((li) => li.dataset.id)`)
	}
	for i := range 3 {
		id := fmt.Sprintf("o%d", i)
		h.everyone(id)
		c.Wait(`document.querySelector("#inbox li")?.dataset.id === %s`, "turn:club:"+id)
		h.restart()
		id += "-after"
		h.everyone(id)
		c.Wait(`document.querySelector("#inbox li").dataset.id === %s`, "turn:club:"+id)
		c.Wait(`document.getElementById("link").textContent === "live"`)
	}
	want := "[turn:club:o2-after turn:club:o2 turn:club:o1-after turn:club:o1 turn:club:o0-after turn:club:o0]"
	if got := fmt.Sprint(listed()); got != want {
		t.Errorf("the inbox shows %s, want %s", got, want)
	}
}

func TestOnTheFanPageScriptInAnyTextIsText(t *testing.T) {
	t.Parallel()
	const evil = `"><script>document.title='owned'</script><img src=x onerror="document.title='owned'">`
	h := newHouse(t)
	h.show("club", "Name "+evil, "Venue "+evil, time.Minute)
	h.join("club", "ada", "f|a@b:c+1")
	choose := newChrome(t)
	choose.To(h.url + "/")
	choose.Sees("Name " + evil)
	c := h.fanPage("ada")
	h.free("club", "o1")
	c.Sees("Your turn for Name " + evil)
	c.Press("#pass")
	c.Press("#leave-club")
	c.Sees("Leave the line for Name " + evil)
	for _, page := range []*chrome{choose, c} {
		if n := run[int](page, `document.querySelectorAll("main script, main img, dialog img, dialog script").length`); n != 0 {
			t.Errorf("%d elements came out of texts", n)
		}
		if title := run[string](page, `document.title`); title == "owned" {
			t.Error("the script ran")
		}
	}
}

func TestAnItemIsReadWhenItIsInView(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.fanPage("ada")
	h.free("club", "o1")
	c.Wait(`document.querySelectorAll("#inbox .unread").length === 1`)
	c.Wait(`document.getElementById("unread").textContent === "1 unread"`)
	c.Do(chromedp.ScrollIntoView(chromedp.CSS("#inbox li")))
	c.Wait(`document.querySelectorAll("#inbox li:not(.unread)").length === 1`)
	c.Wait(`document.getElementById("unread").textContent === ""`) // by the server's answer
	_, unread, err := h.store.Items(t.Context(), "ada", notifier.InboxQuery{Limit: 10})
	check(t, err)
	if unread != 0 {
		t.Errorf("%d are unread", unread)
	}
}

func TestLeavingTheLineAsksFirst(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	c := h.fanPage("ada")
	c.Press("#leave-club")
	c.Wait(`document.getElementById("leave").open`)
	c.Key(kb.Escape)
	c.Wait(`!document.getElementById("leave").open`)
	c.Press("#leave-club")
	c.Press("#leave-yes")
	c.heads("You are in no line")
	c.Sees("You left the line for Tuesday night.")
	c.Press("#join")
	c.Wait(`document.getElementById("position")?.textContent === "2"`)
}

func TestTheFanPageIsWorkedByKeyboardAlone(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.fanPage("ada")
	h.free("club", "o1")
	c.heads("Your turn")
	c.Enter("#take")
	c.heads("Held for you")
	c.Enter("#pay")
	c.heads("It is yours")
}

// pushScript stands in for the push service, which a browser without a network does
// not reach: it makes a subscription as the browser would.
const pushScript = `(() => {
	let sub = null;
	const made = (o) => ({
		asked: new Uint8Array(o.applicationServerKey).length, unsubscribe: async () => (sub = null, true),
		toJSON: () => ({ endpoint: "https://push.example.com/send/abc", keys: {
			p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", auth: "BTBZMqHH6r4Tts7J_aSIgg" } }),
	});
	PushManager.prototype.getSubscription = async () => sub;
	PushManager.prototype.subscribe = async (o) => (sub = made(o));
	return true;
})()`

func TestASeatIsSaidToBePassedOnWhenItIs(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	h.show("other", "Wednesday night", "The Locksmith", 10*time.Minute)
	h.join("other", "cleo", "ada")
	h.declines = make(chan struct{})
	c := h.fanPage("ada")
	c.Sees("2 of 2")
	h.free("club", "o1")
	c.heads("Your turn")
	c.Press("#pass")
	c.Wait(`document.getElementById("pass").disabled`)
	check(t, h.lines.Leave(t.Context(), "other", "cleo")) // so that the page is drawn anew
	c.Wait(`document.body.innerText.split("1 of 2").length === 3`)
	if text := c.Text(); strings.Contains(text, "Passed on") {
		t.Errorf("before the server knows it the page says:\n%s", text)
	}
	close(h.declines)
	c.Sees("Passed on")
}

func TestTheFanPageSubscribesToWebPush(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada")
	c := h.fanPage("ada")
	c.Wait(`!document.getElementById("push") || document.getElementById("push").hidden`)
	h.pushKey = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	c.Allow("WebSocket connection to", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET")
	h.restart()
	c.open(h, "ada")
	c.Sees("This browser can tell you of your turns.")
	if !run[bool](c, `document.querySelector("#places li") !== null && !document.getElementById("inbox-empty").hidden`) {
		t.Error("the button is there before what stands above it, which moves it")
	}
	run[bool](c, pushScript)
	c.Press("#push-button")
	c.Sees("This browser tells you of your turns.")
	device := run[string](c, `localStorage.getItem("fanline.device")`)
	d, err := h.store.Device(t.Context(), "ada", device)
	check(t, err)
	if d.Platform != "webpush" || d.Token != "https://push.example.com/send/abc" {
		t.Errorf("the device is %+v", d)
	}
	c.Press("#push-button")
	c.Sees("This browser can tell you of your turns.")
	if _, err := h.store.Device(t.Context(), "ada", device); err == nil {
		t.Error("the device is still there")
	}
}

// noteScript notes in shown what the page says whenever it changes, for what stands
// there shorter than a test may take to look.
const noteScript = `(() => {
	window.shown = [];
	new MutationObserver(() => shown.push(document.body.innerText)).observe(document.body, { subtree: true, childList: true, characterData: true });
	return true;
})()`

func TestATurnThatNobodyAnswersIsExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.show("club", "Tuesday night", "The Locksmith", 3*time.Second)
	h.join("club", "ada")
	c := h.fanPage("ada")
	run[bool](c, noteScript)
	h.free("club", "o1")
	c.Wait(`shown.some((text) => text.includes("Your turn") && text.includes("If you do nothing, it goes on to the next fan then. You keep your place in line either way."))`)
	c.heads("You are first in line")
	c.Sees("Your turn for Tuesday night is over; the seat goes on to the next fan. You keep your place in line.")
}

// TestTheFanPageIsQuietAndFits looks at each state of it, light and dark, narrow and
// wide: nothing in the console, nothing wider than the screen. With FANLINE_PICTURES
// set, it leaves pictures of them in that folder.
func TestTheFanPageIsQuietAndFits(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("FANLINE_PICTURES")
	h := newHouse(t)
	h.show("club", "Tuesday night at The Locksmith", "The Locksmith", 10*time.Minute)
	h.show("stadium", "Marlow Vance: the reunion", "Harbour Stadium", 10*time.Minute)
	h.join("club", "ada", "ben", "cleo", "dara", "eli", "fay", "gus")
	h.join("stadium", "ada.1", "ben.2", "gus")
	h.show("arena", "Two nights", "The Arena", 10*time.Minute)
	for i := range 100 {
		h.join("arena", fmt.Sprintf("far-%d", i+1))
	}
	c := newChrome(t)
	c.Allow("webpush-key")
	look := func(name string) {
		t.Helper()
		for _, width := range []int64{1280, 400} {
			for _, scheme := range []string{"light", "dark"} {
				c.Scheme(scheme)
				c.Width(width)
				if over := c.TooWide(); over > 0 {
					t.Errorf("%s is %d wider than %d", name, over, width)
				}
				if folder != "" {
					c.Picture(filepath.Join(folder, fmt.Sprintf("fan-%s-%d-%s.png", name, width, scheme)))
				}
			}
		}
	}
	c.To(h.url + "/demo")
	c.Sees("gus")
	look("choose")
	c.open(h, "gus")
	c.Sees("ahead of you")
	look("waiting")
	c.open(h, "far-80")
	c.Wait(`document.querySelector(".whole svg").getAttribute("aria-label") === "About 79 % of the line is ahead of you"`)
	look("far")
	c.open(h, "ada")
	h.free("club", "o1")
	c.heads("Your turn")
	look("turn")
	c.Press("#pass")
	c.Sees("Passed on")
	look("passed")
	c.open(h, "ben")
	c.heads("Your turn")
	c.Press("#take")
	c.heads("Held for you")
	look("held")
	c.open(h, "ben") // loaded anew while seats are held
	c.heads("Held for you")
	c.Press("#pay")
	c.heads("It is yours")
	look("bought")
	c.open(h, "newcomer")
	c.heads("You are in no line")
	look("nowhere")
}
