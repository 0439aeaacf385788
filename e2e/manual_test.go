package e2e_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheManualNamesWhatThereIs looks for each metric and setting that
// docs/operating.md and docs/integrating.md name.
func TestTheManualNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	_, metrics := w.get("http://" + w.in[0].ops + "/metrics")
	_, help := command(t, nil, "serve", "--help")
	for _, name := range []string{"operating.md", "integrating.md"} {
		text := string(must(os.ReadFile("../docs/" + name))(t))
		for _, metric := range regexp.MustCompile(`\bfanline_[a-z_]+`).FindAllString(text, -1) {
			if !strings.Contains(metrics, metric) {
				t.Errorf("%s names the metric %s, which is not there", name, metric)
			}
		}
		for _, setting := range regexp.MustCompile(`\bFANLINE_[A-Z_]+`).FindAllString(text, -1) {
			if !strings.Contains(help, setting) {
				t.Errorf("%s names the setting %s, which is not there", name, setting)
			}
		}
	}
	for _, query := range queries(t) {
		w.sql(query)
	}
}

// queries are those of docs/operating.md, but for the one that changes a role.
func queries(t *testing.T) (list []string) {
	t.Helper()
	text := string(must(os.ReadFile("../docs/operating.md"))(t))
	for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if strings.HasPrefix(line, "SELECT") {
				list = append(list, line)
			}
		}
	}
	if len(list) < 4 {
		t.Fatalf("%d queries", len(list))
	}
	return list
}
