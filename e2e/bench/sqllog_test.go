package main

import (
	"reflect"
	"testing"
)

func TestStatementsAreReadFromTheServersLog(t *testing.T) {
	t.Parallel()
	log := "2026-01-02 03:04:05.678 UTC [7] bench LOG:  duration: 0.250 ms  parse stmtcache_1: \n" +
		"\t\tINSERT INTO inbox (fan_no)\n\t\tSELECT 1\n" +
		"2026-01-02 03:04:05.679 UTC [7] bench LOG:  duration: 0.250 ms  bind stmtcache_1: \n\t\tINSERT INTO inbox (fan_no)\n\t\tSELECT 1\n" +
		"2026-01-02 03:04:05.690 UTC [7] bench LOG:  duration: 10.000 ms  execute stmtcache_1: \n\t\tINSERT INTO inbox (fan_no)\n\t\tSELECT 1\n" +
		"2026-01-02 03:04:05.690 UTC [7] bench ERROR:  something else\n" +
		"2026-01-02 03:04:05.699 UTC [7] bench LOG:  duration: 3.500 ms  statement: commit\n"
	got := statements(log)
	want := []statement{{"INSERT INTO inbox", 10.5}, {"commit", 3.5}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ms, err := took(got, "INSERT INTO inbox"); err != nil || ms != 10.5 {
		t.Errorf("%v ms, %v", ms, err)
	}
	if _, err := took(got, "DELETE"); err == nil {
		t.Error("a statement that did not run has a time")
	}
}
