package main

import "testing"

func TestASeatCountsItsOwnRowsEntriesAndCommitsAlone(t *testing.T) {
	t.Parallel()
	whole := 90
	commit := change{kind: "Transaction COMMIT", bytes: 34}
	plain := []change{
		{kind: "Heap INSERT", relation: "due", bytes: 71},
		{kind: "Btree INSERT_LEAF", relation: "due_at", bytes: 64},
		{kind: "Gin UPDATE_META_PAGE", relation: "jobs", bytes: 342},
		{kind: "Heap LOCK", relation: "shows", bytes: 54},
		commit,
		{kind: "Heap HOT_UPDATE", relation: "lines", bytes: 72, version: &whole},
		commit,
	}
	// The same, where other bytes of the version changed, and no page had room.
	crowded := []change{
		{kind: "Sequence LOG", relation: "events_id_seq", bytes: 99},
		{kind: "Heap2 PRUNE", relation: "due", bytes: 60},
		{kind: "Heap INSERT", relation: "due", bytes: 71},
		{kind: "Btree SPLIT_R", relation: "due_at", bytes: 752, apart: true},
		{kind: "Btree NEWROOT", relation: "due_at", bytes: 122},
		{kind: "Gin INSERT_LISTPAGE", relation: "jobs", bytes: 254},
		{kind: "Gin UPDATE_META_PAGE", relation: "jobs", bytes: 142},
		{kind: "Heap LOCK", relation: "shows", bytes: 54},
		commit,
		{kind: "Heap HOT_UPDATE", relation: "lines", bytes: 80, version: &whole},
		commit,
	}
	more := append([]change{{kind: "Btree INSERT_LEAF", relation: "due_show", bytes: 64}}, plain...)
	costs := make(seatCosts, 3)
	for i, changes := range [][]change{plain, crowded, more} {
		if err := costs[i].add(changes); err != nil {
			t.Fatal(err)
		}
	}
	if err := costs.settle(); err != nil {
		t.Fatal(err)
	}
	const want = 71 + 64 + 342 + 54 + 34 + 90 + 34
	for i, bytes := range []int{want, want, want + 64} {
		if c := costs[i]; c.bytes != bytes || c.written != 2 {
			t.Errorf("the seat %d has %d bytes and %d rows, not %d and 2", i, c.bytes, c.written, bytes)
		}
	}
	if got := costs.upkeep(); got != 99+60+752+122+254+142 {
		t.Errorf("%v bytes of upkeep beside them", got)
	}
	if err := new(seatCost).add(plain[:5]); err == nil {
		t.Error("a seat without a decision counts")
	}
}

func TestStatementsAndRowsAreThoseOfTheProgramsSessions(t *testing.T) {
	t.Parallel()
	const at = "2026-01-02 03:04:05.678 UTC "
	log := at + "[7] bench LOG:  duration: 0.1 ms  parse s1: SELECT 1\n" +
		at + "[7] bench LOG:  duration: 0.1 ms  bind s1: SELECT a\n\t\tFROM b\n" +
		at + "[7] bench LOG:  duration: 0.1 ms  execute s1: SELECT a\n\t\tFROM b\n" +
		at + "[7] bench LOG:  duration: 0.1 ms  plan:\n" +
		"\t{\n\t  \"Query Text\": \"SELECT a\\n\\t\\tFROM b: c\",\n" +
		"\t  \"Plan\": {\"Node Type\": \"Nested Loop\", \"Actual Rows\": 6, \"Actual Loops\": 1, \"Plans\": [\n" +
		"\t    {\"Node Type\": \"Index Scan\", \"Relation Name\": \"b\", \"Actual Rows\": 2, \"Actual Loops\": 1, \"Rows Removed by Filter\": 1},\n" +
		"\t    {\"Node Type\": \"Index Only Scan\", \"Relation Name\": \"c\", \"Actual Rows\": 3, \"Actual Loops\": 2, \"Rows Removed by Index Recheck\": 1}\n" +
		"\t  ]}\n\t}\n" +
		at + "[8] bench LOG:  duration: 0.1 ms  execute s1: SELECT another FROM session\n" +
		at + "[7] bench LOG:  duration: 0.1 ms  statement: -- ping\n" +
		at + "[7] bench LOG:  duration: 0.1 ms  statement: commit\n"
	statements, read, err := ran(log, map[string]bool{"7": true})
	if err != nil || statements != 2 || read != 2+1+(3+1)*2 {
		t.Errorf("%d statements read %d rows (%v), not 2 and 11", statements, read, err)
	}
}
