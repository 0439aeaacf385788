package e2e_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// manual are the pages that name metrics and settings.
var manual = []string{"operating.md", "delivery.md", "integrating.md"}

// TestTheManualNamesWhatThereIs looks for each metric and setting that the manual
// names, and for each metric that it does not name, and asks its queries.
func TestTheManualNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	in := w.newInstance("A",
		"FANLINE_SMTP_ADDR=127.0.0.1:9", "FANLINE_SMTP_FROM=tickets@example.com", // figures by channel need one
		"FANLINE_KAFKA_BROKERS=127.0.0.1:9", "FANLINE_KAFKA_TOPIC=fanline")
	in.launch()
	in.waitReady()
	_, metrics := w.get("http://" + in.ops + "/metrics")
	_, help := command(t, nil, "serve", "--help")
	all := ""
	for _, name := range manual {
		text := string(must(os.ReadFile("../docs/" + name))(t))
		all += text
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
	for _, metric := range regexp.MustCompile(`(?m)^# TYPE (fanline_\w+)`).FindAllStringSubmatch(metrics, -1) {
		if !regexp.MustCompile(metric[1] + `\b`).MatchString(all) {
			t.Errorf("the metric %s is in no page of the manual", metric[1])
		}
	}
	for _, query := range queries(t) {
		w.sql(query)
	}
}

// queries are those of the manual, but for the one that changes a role.
func queries(t *testing.T) (list []string) {
	t.Helper()
	for _, name := range manual {
		text := string(must(os.ReadFile("../docs/" + name))(t))
		for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				if strings.HasPrefix(line, "SELECT") {
					list = append(list, line)
				}
			}
		}
	}
	if len(list) < 5 {
		t.Fatalf("%d queries", len(list))
	}
	return list
}
