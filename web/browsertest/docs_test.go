package browsertest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// blocks are the examples of docs/integrating.md in a language, in order.
func blocks(t *testing.T, language string) (list []string) {
	t.Helper()
	text := string(must(os.ReadFile("../../docs/integrating.md"))(t))
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestTheCallsOfTheDocsSellASeatAndReachAFan(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") != "" {
		t.Fatal("CI runs what is shown; scripts/setup tests installs curl")
	} else if err != nil {
		t.Skip("curl is not here; scripts/setup tests installs it")
	}
	h := newHouse(t)
	calls := blocks(t, "sh")
	if len(calls) != 3 {
		t.Fatalf("%d blocks", len(calls))
	}
	sh := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Env = append(os.Environ(), "FANLINE="+h.url, "KEY="+appKey)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%v\n%s", script, err, out)
		}
	}
	sh(calls[0])
	for h.reason("tuesday-42", "freed-7", "ada") != "turn_open" && t.Context().Err() == nil {
		<-time.After(5 * time.Millisecond)
	}
	helper, _, _ := strings.Cut(calls[0], "\n")
	sh(helper + "\n" + calls[1])
	if r := h.reason("tuesday-42", "freed-7", "ada"); r != "confirmed" {
		t.Errorf("the verdict is %s", r)
	}
	sh(helper + "\n" + calls[2])
}

func TestTheFanAppOfTheDocsTellsAndClaims(t *testing.T) {
	t.Parallel()
	h := newClub(t, "ada", "ben")
	pages := blocks(t, "html")
	if len(pages) != 1 || strings.Count(pages[0], "\n") > 22 {
		t.Fatalf("%d pages, the first of %d lines", len(pages), strings.Count(pages[0], "\n"))
	}
	h.app = strings.ReplaceAll(pages[0], "https://tickets.example.com", h.url)
	ada, ben := newChrome(t), newChrome(t)
	ada.To(h.url + "/app?fan=ada")
	ada.Sees("Position 1")
	ben.To(h.url + "/app?fan=ben")
	ben.Sees("Position 2")
	h.free("club", "o1")
	ada.Sees("Your turn for Tuesday night, until 20")
	ada.Press("#pass")
	ada.Sees("Position 1")
	ben.Sees("Your turn for Tuesday night, until 20")
	ben.Press("#take")
	ben.Wait(`document.getElementById("take").hidden`)
	if r := h.reason("club", "o1", "ben"); r != "claimed" {
		t.Errorf("ben's verdict is %s", r)
	}
}
