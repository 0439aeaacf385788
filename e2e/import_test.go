package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fanline/sim"
)

func TestAnImportThatWasKilledGoesOnInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	_, err := w.app.PutShow(w.ctx, "stadium", sim.PutShow{Name: "Reunion", Venue: "Harbour", StartsAt: time.Now().Add(240 * time.Hour)})
	check(t, err)
	const lines = 45_000
	var want []string
	file := filepath.Join(t.TempDir(), "fans.csv")
	text := "fan_id,party_size\n"
	for i := range lines {
		switch {
		case i%9000 == 5:
			text += fmt.Sprintf("fan-%d,99\n", i) // too large a party
		default:
			text += fmt.Sprintf("fan-%d,2\n", i)
			want = append(want, fmt.Sprintf("fan-%d", i))
		}
	}
	check(t, os.WriteFile(file, []byte(text), 0o600))
	waiting := func() int64 { return w.number(`SELECT count(*) FROM entries`) }
	args := []string{"import", "--show", "stadium", "--url", w.in[0].base, file}
	env := []string{"FANLINE_API_KEY=" + apiSecret}

	first := run(t, "import", env, args...)
	w.until(startPatience, "some thousand are in", func() bool { return waiting() > 3000 })
	first.kill()
	before := waiting()
	if before >= int64(len(want)) {
		t.Log("the import was over before it was killed")
	}
	second := run(t, "import again", env, args...)
	w.until(startPatience, "some more are in", func() bool { return waiting() > min(before+3000, int64(len(want)-1)) })
	w.in[0].kill() // it sends its part again when there is somebody to take it
	w.in[0].restart()
	code, err := second.code(w.ctx)
	check(t, err)
	out := second.out.all()
	if code != 1 || !strings.Contains(out, "line 7: party_size must be 1 to 20") || !strings.Contains(out, "rejected 5") {
		t.Errorf("exit code %d, want 1 for the lines refused:\n%s", code, out)
	}
	var got []string
	for e, err := range w.app.Entries(w.ctx, "stadium", sim.EntryFilter{}) {
		check(t, err)
		got = append(got, e.FanID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d in line, %d in the file, or in another order", len(got), len(want))
	}
	code, out = command(t, env, args...)
	if code != 1 || !strings.Contains(out, fmt.Sprintf("imported 0, existing %s", "44,995")) {
		t.Errorf("a third import: exit code %d\n%s", code, out)
	}
}

func TestABadImportIsNamedAndEndsWithTwo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fans.ndjson")
	check(t, os.WriteFile(file, []byte(`{"fan_id":"ada"}`), 0o600))
	for _, c := range []struct {
		named string
		args  []string
	}{
		{"--show", []string{file}},
		{"--show", []string{"--show", "no spaces", file}},
		{"FILE", []string{"--show", "s", file + ".none"}},
		{"FILE", []string{"--show", "s", filepath.Dir(file)}},
		{"--url", []string{"--show", "s", "--url", "shop.example", file}},
		{"--format", []string{"--show", "s", "--format", "xml", file}},
	} {
		if code, out := command(t, nil, append([]string{"import"}, c.args...)...); code != 2 || !strings.Contains(out, c.named) {
			t.Errorf("%v: exit code %d, want 2 with %s named in:\n%s", c.args, code, c.named, out)
		}
	}
}
