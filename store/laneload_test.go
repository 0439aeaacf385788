package store_test

import "testing"

func TestTheLoadOfQueuesIsCounted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.send(urgent("ada", "Code 1"), bulk("bob", "News"), urgent("cy", "Code 2"))
	loads, err := o.store.QueueLoads(t.Context())
	must(t, err)
	waiting := map[string]int{}
	for _, l := range loads {
		waiting[l.Queue] = l.Waiting
	}
	if waiting["lane_transactional"] != 1 || waiting["lane_bulk"] != 1 {
		t.Errorf("waiting: %v", waiting)
	}
}
