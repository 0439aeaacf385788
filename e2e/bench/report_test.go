package main

import (
	"math"
	"strings"
	"testing"
)

func TestFiguresKeepWhatSaysSomething(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0.1234: "0.12", 9.999: "10.00", 12.34: "12.3", 123.4: "123", 3605.4: "3,605", 1234567: "1,235,000", math.NaN(): "-",
	} {
		if got := figure(f); got != want {
			t.Errorf("figure of %v is %q, want %q", f, got, want)
		}
	}
}

func TestALineOfJSONHasEveryField(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := result{Name: "joins", Unit: "joins/s", Ours: 21987.654, Floor: 24000, FloorName: "by hand", Ratio: 0.91615, Low: 0.9, High: math.NaN(), Note: "a < b"}
	if err := lines(&b, []result{r}); err != nil {
		t.Fatal(err)
	}
	want := `{"name":"joins","unit":"joins/s","ours":21990,"floor":24000,"floor_name":"by hand","ratio":0.9162,"low":0.9,"high":0,"note":"a < b"}` + "\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}

func TestTheTableNamesBothSides(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := table(&b, []result{{Name: "claims", Unit: "claims/s", Ours: 5000, Floor: 2500, FloorName: "a commit each", Ratio: 2, Low: 1.9, High: 2.1, Note: "of 128"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5,000 claims/s", "2,500", "a commit each", "2.00", "1.90 to 2.10", "claims: of 128"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}
