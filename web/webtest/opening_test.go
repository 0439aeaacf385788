package webtest

import (
	"fmt"
	"testing"
)

type openings struct {
	Items []struct {
		ID    string           `json:"id"`
		Waves []map[string]any `json:"waves"`
	} `json:"items"`
}

// TestAListOfOpeningsShowsTheNewestWavesOfThePage has more waves than one answer
// shows.
func TestAListOfOpeningsShowsTheNewestWavesOfThePage(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	for i := range 130 {
		in.join("s1", fmt.Sprint("fan-", i))
	}
	for i := range 120 {
		in.free("s1", fmt.Sprint("o", i), `{"quantity":1,"reason":"returned"}`)
	}
	var list openings
	in.app("GET", "/v1/shows/s1/openings?limit=500", "").want(200).into(&list)
	shown := 0
	for i, o := range list.Items {
		shown += len(o.Waves)
		var one struct {
			Waves []map[string]any `json:"waves"`
		}
		if i%20 != 0 {
			continue
		}
		in.app("GET", "/v1/shows/s1/openings/"+o.ID, "").want(200).into(&one)
		if i < 100 && fmt.Sprint(o.Waves) != fmt.Sprint(one.Waves) {
			t.Errorf("opening %s in the list has waves %v, by itself %v", o.ID, o.Waves, one.Waves)
		}
		if i >= 100 && (len(o.Waves) > 0 || len(one.Waves) != 1) {
			t.Errorf("opening %s has %d waves in the list and %d by itself", o.ID, len(o.Waves), len(one.Waves))
		}
	}
	if len(list.Items) != 120 || shown != 100 {
		t.Errorf("%d openings with %d waves, want 120 with 100", len(list.Items), shown)
	}
}

func TestAnImportToAnUnknownShowIs404WhateverItsLines(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("gone")
	in.app("DELETE", "/v1/shows/gone", "").want(204)
	for _, lines := range []string{"", "\n", "nonsense\n", `{"fan_id":"!"}`, `{"fan_id":"ada"}`} {
		for show, status := range map[string]int{"none": 404, "gone": 410} {
			in.app("POST", "/v1/shows/"+show+"/entries:import", lines, "Content-Type", "application/x-ndjson").want(status)
		}
	}
}

func TestAShowsTextForResultsIsForThoseWithoutOneByState(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.show("s1")
	in.app("PUT", "/v1/shows/s1", `{"templates":{"result":{"en":{"title":"Result for {show}","body":"B"}},"result.filled":{"en":{"title":"Too late","body":"B"}}}}`).want(200)
	in.join("s1", "ada", "ben")
	in.free("s1", "o1", `{"quantity":1,"reason":"returned","policy":{"fans_per_seat":2}}`)
	in.opened("s1", "o1", "ben")
	in.take("s1", "o1", "ada")
	for fan, title := range map[string]string{"ada": "Result for Tuesday", "ben": "Too late"} {
		var inbox struct {
			Items []struct{ Title string }
		}
		in.fan(fan, "GET", "/v1/me/inbox?kind=result", "").want(200).into(&inbox)
		if len(inbox.Items) != 1 || inbox.Items[0].Title != title {
			t.Errorf("%s was told %v, want %q", fan, inbox.Items, title)
		}
	}
}
