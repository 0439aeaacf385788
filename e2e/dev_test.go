package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fanline/sim"
)

func TestDevTellsItsStoryAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	built(t)
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	d := &dev{t: t, ctx: ctx, addr: freeAddr(t), data: filepath.Join(t.TempDir(), "data")}

	d.start()
	for _, verb := range []string{"freed", "turn", "claimed", "bought"} {
		d.story(verb)
	}
	d.pasteCurl()
	d.playAFan()
	d.refusesASecond()
	d.stop()

	// The same data serve another run: nobody joins twice, and the story goes on.
	d.start()
	d.story("turn")
	d.stop()
}

// dev is `fanline dev` on one data directory.
type dev struct {
	t          *testing.T
	ctx        context.Context
	addr, data string
	*process
}

func (d *dev) start() {
	d.t.Helper()
	began := time.Now()
	d.process = run(d.t, "fanline dev", nil, "dev", "--addr", d.addr, "--data", d.data, "--stadium", "300")
	first, err := d.within(10*time.Second, "")
	check(d.t, err)
	d.t.Logf("first words after %v: %s", time.Since(began).Round(time.Millisecond), first)
	_, err = d.within(startPatience, "Fanline is running")
	check(d.t, err)
	d.t.Logf("running after %v", time.Since(began).Round(time.Millisecond))
}

func (d *dev) within(patience time.Duration, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	return d.line(ctx, words...)
}

// story waits for a line of the tale with a verb.
func (d *dev) story(verb string) {
	d.t.Helper()
	line, err := d.within(startPatience, "  "+verb+" ")
	check(d.t, err)
	d.t.Log(line)
}

var curlLine = regexp.MustCompile(`(?s)  curl .*?openings/hand-[^\n]*`)

// pasteCurl runs the command that the greeting shows, as it stands, and looks for
// the seat in the tale.
func (d *dev) pasteCurl() {
	d.t.Helper()
	shown := curlLine.FindString(d.out.all())
	if shown == "" {
		d.t.Fatalf("no curl command in:\n%s", d.out.all())
	}
	if _, err := exec.LookPath("curl"); err != nil {
		d.t.Log("curl is not installed, so the command that is shown was not run")
		return
	}
	out, err := exec.CommandContext(d.ctx, "sh", "-c", strings.TrimSpace(shown)+` -sS --fail-with-body`).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s\n%v\n%s", shown, err, out)
	}
	id := regexp.MustCompile(`"id":"hand-(\d+)"`).FindSubmatch(out)
	if id == nil {
		d.t.Fatalf("the command was answered:\n%s", out)
	}
	seat := string(id[1])
	line, err := d.within(startPatience, "#"+seat[max(0, len(seat)-4):], "  freed ")
	check(d.t, err)
	d.t.Log(line)
}

// playAFan takes over a fan as the fan page does, and hears of a turn that is no
// longer the story's.
func (d *dev) playAFan() {
	d.t.Helper()
	line, err := d.within(time.Second, "fan page", "/demo")
	check(d.t, err)
	d.t.Log(line)
	origin := "http://" + d.addr
	ask := func(method, path, body string) string {
		req := must(http.NewRequestWithContext(d.ctx, method, origin+path, strings.NewReader(body)))(d.t)
		req.Header.Set("Origin", origin)
		resp := must(http.DefaultClient.Do(req))(d.t)
		defer resp.Body.Close()
		answer := must(io.ReadAll(resp.Body))(d.t)
		if resp.StatusCode != http.StatusOK {
			d.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, answer)
		}
		return string(answer)
	}
	if page := ask("GET", "/demo", ""); !strings.Contains(page, "/demo/assets/page.js") {
		d.t.Errorf("the fan page is\n%s", page)
	}
	var scene struct {
		Fans []struct{ ID string }
	}
	check(d.t, json.Unmarshal([]byte(ask("GET", "/demo/scene", "")), &scene))
	if len(scene.Fans) == 0 {
		d.t.Fatal("nobody can be played")
	}
	fan := scene.Fans[0].ID // the first in line
	var given struct{ Token string }
	check(d.t, json.Unmarshal([]byte(ask("POST", "/demo/token", `{"fan":"`+fan+`"}`)), &given))
	_, err = d.within(time.Second, fan+" is yours now")
	check(d.t, err)
	f, err := sim.Connect(d.ctx, sim.FanConfig{BaseURLs: []string{origin}, Token: given.Token, Browser: true, Origin: origin})
	check(d.t, err)
	defer f.Close()
	item, err := f.WaitItem(d.ctx, func(i sim.Item) bool { return i.Kind == "turn" && i.State == "open" })
	check(d.t, err)
	d.t.Logf("%s is told: %s", fan, item.Title)
}

func TestTheFanPageIsOfDevAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	for _, path := range []string{"/demo", "/demo/", "/demo/scene", "/demo/assets/page.js"} {
		if status, _ := w.get(w.in[0].base + path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, body := w.get(w.in[0].base + "/client/fanline.js"); status != http.StatusOK || !strings.Contains(body, "export class Fanline") {
		t.Errorf("the client: %d", status)
	}
}

// refusesASecond starts another one on the same data.
func (d *dev) refusesASecond() {
	d.t.Helper()
	second := run(d.t, "a second fanline dev", nil, "dev", "--addr", freeAddr(d.t), "--data", d.data)
	ctx, cancel := context.WithTimeout(d.ctx, startPatience)
	defer cancel()
	code, err := second.code(ctx)
	check(d.t, err)
	said := second.out.all()
	if code != 2 || !strings.Contains(said, "is in use by process") || !strings.Contains(said, "--data=") {
		d.t.Errorf("a second one on the same data ends with %d and says:\n%s", code, said)
	}
}

// stop is Ctrl-C. Nothing that was started may be left.
func (d *dev) stop() {
	d.t.Helper()
	family := descendants(d.t, d.cmd.Process.Pid)
	if len(family) < 2 {
		d.t.Errorf("the family of the process is %v; where is its Postgres?", family)
	}
	began := time.Now()
	d.signal(syscall.SIGINT)
	ctx, cancel := context.WithTimeout(d.ctx, 20*time.Second)
	defer cancel()
	code, err := d.code(ctx)
	check(d.t, err)
	if code != 0 {
		d.t.Errorf("exit code %d, want 0", code)
	}
	d.t.Logf("stopped after %v", time.Since(began).Round(time.Millisecond))
	for _, p := range family {
		if now, err := readStat(p.pid); err == nil && now.start == p.start && now.state != "Z" {
			d.t.Errorf("%d (%s) is still there", p.pid, p.name)
		}
	}
	checkOutput(d.t, d.process)
	log, err := os.ReadFile(filepath.Join(d.data, "fanline.log"))
	check(d.t, err)
	if strings.Contains(string(log), "eyJ") {
		d.t.Error("the log holds a token")
	}
}

// stat is a process as /proc shows it.
type stat struct {
	pid, parent int
	name, state string
	start       string // in ticks since boot: a number that is used again has another
}

// descendants are a process and all below it. Where there is no /proc there are none.
func descendants(t *testing.T, root int) (family []stat) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Skip("no /proc: cannot see which processes are left")
	}
	byParent := map[int][]stat{}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern begins with a digit
		if s, err := readStat(pid); err == nil {
			byParent[s.parent] = append(byParent[s.parent], s)
			if pid == root {
				family = append(family, s)
			}
		}
	}
	for i := 0; i < len(family); i++ {
		family = append(family, byParent[family[i].pid]...)
	}
	return family
}

func readStat(pid int) (s stat, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	// "7 (a name) S 1 ...": the name may hold spaces and brackets.
	open, end := strings.Index(string(b), "("), strings.LastIndex(string(b), ")")
	fields := strings.Fields(string(b)[end+1:])
	if open < 0 || len(fields) < 20 {
		return s, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	parent, err := strconv.Atoi(fields[1])
	return stat{pid: pid, parent: parent, name: string(b)[open+1 : end], state: fields[0], start: fields[19]}, err
}
