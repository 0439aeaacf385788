package store_test

import (
	"testing"

	"fanline/notifier"
)

func TestAPhaseThatAProviderTellsOfNeverGoesBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.device("ada", notifier.APNs, "phone")
	o.send(urgent("ada", "Code 1"))
	o.deliver()
	id := "apns-" + string(o.strings(`SELECT encode(key, 'hex') FROM deliveries`)[0])
	for _, told := range []struct {
		phase  notifier.Phase
		reason string
		news   bool
	}{
		{notifier.PhaseSent, "", false},
		{notifier.PhaseDelivered, "", true},
		{notifier.PhaseDelivered, "", false},
		{notifier.PhaseFailed, "late", false},
		{notifier.PhaseOpened, "", true},
		{notifier.PhaseBounced, "550", false},
	} {
		news, err := o.store.TellPhase(t.Context(), notifier.APNs, id, told.phase, told.reason)
		if err != nil || news != told.news {
			t.Errorf("%s: news %v, want %v (%v)", told.phase, news, told.news, err)
		}
	}
	if news, err := o.store.TellPhase(t.Context(), notifier.SMS, id, notifier.PhaseBounced, ""); err != nil || news {
		t.Errorf("another channel's: %v, %v", news, err)
	}
	o.wantPhases("ada", "apns: accepted sent delivered opened")
}

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
