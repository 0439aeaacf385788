package waitlist

import (
	"fmt"
	"testing"
	"time"
)

// TestATraceReadsTheMembersOfAllWavesAtOnce has fifty openings whose last decision
// walked past a party that did not fit any more.
func TestATraceReadsTheMembersOfAllWavesAtOnce(t *testing.T) {
	show := testShow()
	entry := Entry{No: 9, Place: 9, Party: 2, State: Waiting, FanID: "ada"}
	f := TraceFacts{Facts: Facts{Now: noon, Show: &show, Entry: &entry}}
	for no := int64(50); no > 0; no-- {
		f.Openings = append(f.Openings, TraceOpening{
			Opening: Opening{No: no, ID: fmt.Sprint("o", no), Mode: ModeTurns, State: OpeningOpen, Quantity: 2, RecordedAt: noon.Add(-time.Hour)},
			Waves:   []Wave{{OpeningNo: no, N: 1, Decision: no, Free: 2, Demand: 2, WalkedTo: 20, DecidedAt: noon.Add(-time.Hour)}},
		})
	}
	reads := 0
	f.MembersOf = func(waves []Wave) (map[WaveRef][]Member, error) {
		reads++
		found := map[WaveRef][]Member{}
		for _, w := range waves {
			found[WaveRef{w.OpeningNo, w.N}] = []Member{{EntryNo: 1, Place: 1, Party: 1}}
		}
		return found, nil
	}
	items, err := f.judge()
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range items {
		if it.Reason != PartyTooBig || it.OpeningNo != int64(50-i) || !it.RecordedAt.Equal(noon.Add(-time.Hour)) {
			t.Errorf("item %d: %+v", i, it)
		}
	}
	if reads != 1 {
		t.Errorf("members were read %d times", reads)
	}
}
