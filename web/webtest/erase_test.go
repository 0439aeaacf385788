package webtest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"fanline/waitlist"
	"fanline/web"
)

const (
	erased         = "ada.lovelace+1815@example.com"
	phoneOfErased  = "+442079460018"
	deviceOfErased = "ada.lovelace-phone"
)

// life does everything that the fan to be erased can do, and has staff do to them
// what they can, and returns the openings that are over.
func life(t *testing.T, in *instance) (past []string) {
	t.Helper()
	path := url.PathEscape(erased)
	body := func(more string) string { return `{"fan_id":"` + erased + `"` + more + `}` }
	because := `,"reason":"promised to ` + erased + `, who wrote"`

	contactOf(in, erased)

	// In one show: moved, told, declined, given a turn, claimed, released, claimed, bought.
	in.show("bought")
	in.join("bought", "ben", "cyd")
	in.app("POST", "/v1/shows/bought/entries", body(""), key, "join").want(201)
	in.app("POST", "/v1/shows/bought/entries", body(""), key, "join again").want(200)
	in.app("PATCH", "/v1/shows/bought/entries/"+path, `{"move":"front"`+because+`}`).want(200)
	in.app("PATCH", "/v1/shows/bought/entries/"+path, `{"move":"restore"`+because+`}`).want(200)
	in.app("PATCH", "/v1/shows/bought/entries/"+path, `{"move":"front"`+because+`}`).want(200)
	in.app("PATCH", "/v1/shows/bought/entries/cyd", `{"move":"front","reason":"swapped with `+erased+`."}`).want(200)
	in.free("bought", "o1", `{"quantity":2,"reason":"returned"}`)
	in.opened("bought", "o1", path)
	in.opened("bought", "o1", "cyd")
	in.fan(erased, "POST", "/v1/me/turns/bought/o1/decline", "", key, "decline").want(204)
	in.decide()
	in.opened("bought", "o1", "ben")
	for _, fan := range []string{"ben", "cyd"} {
		in.app("POST", "/v1/shows/bought/openings/o1/claims", `{"fan_id":"`+fan+`"}`).want(201)
	}
	in.fan(erased, "GET", "/v1/me/inbox", "").want(200)
	in.fan(erased, "POST", "/v1/me/inbox/read", `{"ids":["turn:bought:o1"]}`, key, "read").want(200)
	in.fan(erased, "POST", "/v1/me/inbox/read", `{"all_before":"2100-01-01T00:00:00Z"}`, key, "read all").want(200)
	in.app("PUT", "/v1/shows/bought/openings/o2", `{"quantity":1,"reason":"returned","tier":"floor"}`).want(201)
	in.app("POST", "/v1/shows/bought/openings/o2/turns", body(because), key, "give").want(204)
	in.decide()
	in.opened("bought", "o2", path)
	claim, _ := in.fan(erased, "POST", "/v1/me/turns/bought/o2/claim", "", key, "claim").want(201).get("id").(string)
	in.app("POST", "/v1/claims/"+claim+"/extend", `{"by_s":5}`, key, "extend").want(200)
	in.app("POST", "/v1/claims/"+claim+"/release", `{`+because[1:]+`}`, key, "release").want(200)
	in.decide()
	in.free("bought", "o3", `{"quantity":1,"reason":"returned"}`)
	in.opened("bought", "o3", path)
	claim, _ = in.app("POST", "/v1/shows/bought/openings/o3/claims", body(""), key, "claim 3").want(201).get("id").(string)
	in.app("POST", "/v1/claims/"+claim+"/confirm", "", key, "confirm").want(200)
	in.decide()

	// Elsewhere: left and joined again, removed by staff, holding, told, waiting.
	in.show("rejoined")
	in.app("POST", "/v1/shows/rejoined/entries", body("")).want(201)
	in.fan(erased, "DELETE", "/v1/me/entries/rejoined", "").want(204)
	in.app("POST", "/v1/shows/rejoined/entries", body(`,"party_size":3`)).want(201)
	in.show("removed")
	in.app("POST", "/v1/shows/removed/entries", body("")).want(201)
	audited := waitlist.WithAudit(t.Context(), waitlist.Audit{
		Who: "dora", Act: waitlist.AuditRemove, ShowID: "removed", FanID: erased, Reason: erased + " is a tout",
	})
	if err := in.lines.Remove(audited, "removed", erased, erased+" is a tout"); err != nil {
		t.Fatal(err)
	}
	for _, show := range []string{"holding", "told"} {
		in.show(show)
		in.app("POST", "/v1/shows/"+show+"/entries", body("")).want(201)
		in.join(show, "ben")
		in.free(show, "o1", `{"quantity":1,"reason":"returned"}`)
		in.opened(show, "o1", path)
	}
	in.app("POST", "/v1/shows/told/announcements", `{"id":"a1","title":"T","body":"B"}`).want(202)
	in.app("POST", "/v1/shows/told/announcements", `{"id":"a2","title":"T","body":"B"}`).want(202)
	in.fan(erased, "POST", "/v1/me/inbox/read", `{"ids":["ann:told:a1"]}`).want(200)
	message := func(more string) string {
		return body(`,"type":"news","title":"For ` + erased + `","body":"` + erased + ` or ` + phoneOfErased + `","data":{"to":"` + erased + `"}` + more)
	}
	in.app("POST", "/v1/notifications", message(`,"lane":"transactional","inbox":true,"dedup_key":"`+erased+`"`), key, "code").want(202)
	in.app("POST", "/v1/notifications", message(`,"lane":"transactional","dedup_key":"beside the inbox"`)).want(202)
	in.app("POST", "/v1/notifications", message(`,"lane":"bulk"`)).want(202)
	in.app("POST", "/v1/notifications:batch", `{"notifications":[`+message(`,"lane":"bulk","dedup_key":"in a batch"`)+`]}`, key, "batch").want(200)
	in.delivered(erased)
	in.app("POST", "/v1/shows/holding/openings/o1/claims", body(""), key, "hold").want(201)
	in.app("POST", "/v1/shows/told/openings/o1/claims", body(`,"x":1`), key, "hold badly").want(400)
	in.app("POST", "/v1/fans/"+path+"/sign-out", `{"device":"phone"}`, key, "out").want(204)
	in.app("POST", "/v1/shows/holding/openings/o1/turns", body(because), key, "give twice").want(409)
	return []string{"bought/o1", "bought/o2", "bought/o3"}
}

// delivered writes down what a push to the fan's device became.
func (in *instance) delivered(fan string) {
	in.exec(`
		INSERT INTO deliveries (day, key, fan_no, kind, ref, item, lane, channel, address_ref, state, next_at, phase, phases, created_at)
		SELECT CURRENT_DATE, '\x01', f.fan_no, 'message', m.msg_no, 'msg:' || m.id, m.lane, 'fcm', v.device_id, 'sent', now(), 'sent', '[]', now()
		FROM fans f JOIN messages m USING (fan_no) JOIN devices v USING (fan_no) WHERE f.fan_id = $1 AND v.device_id = $2 LIMIT 1`, fan, deviceOfErased)
}

// found are the tables with a row that holds the text.
func (in *instance) found(text string) (tables []string) {
	in.t.Helper()
	in.sql(func(c *pgx.Conn) error {
		rows, err := c.Query(in.t.Context(), `
			SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
			WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`)
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(all) < 20 || !slices.ContainsFunc(all, func(t string) bool { return strings.HasSuffix(t, ".river_job") }) {
			in.t.Fatalf("only these tables are searched: %v", all)
		}
		for _, table := range all { // a row as text holds all its columns, bytes in hexadecimal
			var n int
			if err := c.QueryRow(in.t.Context(), `SELECT count(*) FROM `+table+` t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0`,
				text, hex.EncodeToString([]byte(text))).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				tables = append(tables, fmt.Sprintf("%s (%d)", table, n))
			}
		}
		return nil
	})
	return tables
}

// others is how the line looks to everybody but the erased fan.
func (in *instance) others(past []string) map[string]string {
	in.t.Helper()
	look := map[string]string{}
	for _, o := range past {
		show, opening, _ := strings.Cut(o, "/")
		for _, fan := range []string{"ben", "cyd"} {
			p := "/v1/shows/" + show + "/openings/" + opening + "/turns/" + fan
			look[p] = in.app("GET", p, "").want(200).body
			p = "/v1/shows/" + show + "/entries/" + fan
			look[p] = in.app("GET", p, "").want(200).body
		}
		p := "/v1/shows/" + show + "/openings/" + opening
		look[p] = in.app("GET", p, "").want(200).body
	}
	return look
}

func TestAnErasedFanIsNowhere(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	past := life(t, in)
	for _, table := range []string{
		"public.fans", "public.entry_log", "public.claims", "public.audit", "public.answers", "public.devices", "public.messages",
	} {
		if !slices.ContainsFunc(in.found(erased), func(f string) bool { return strings.HasPrefix(f, table+" ") }) {
			t.Errorf("the fan was never in %s: the test erases too little", table)
		}
	}
	if n := in.rows("deliveries WHERE address_ref = $1", deviceOfErased); n != 1 {
		t.Errorf("%d deliveries to the fan's device, want 1", n)
	}
	before := in.others(past)
	path := "/v1/fans/" + url.PathEscape(erased)
	in.app("DELETE", path, "").want(204)
	if found := in.found(erased); len(found) > 0 {
		t.Errorf("the fan is still in %v", found)
	}
	for _, leads := range []string{phoneOfErased, deviceOfErased} {
		if found := in.found(leads); len(found) > 0 {
			t.Errorf("%s is still in %v", leads, found)
		}
	}
	for _, table := range []string{"inbox", "inbox_reads", "devices", "messages", "message_keys"} {
		if n := in.rows(table + " WHERE fan_no NOT IN (SELECT fan_no FROM fans)"); n > 0 {
			t.Errorf("%d rows of the fan are left in %s", n, table)
		}
	}
	if n := in.rows("entries WHERE state IN ('waiting', 'holding') AND fan_no NOT IN (SELECT fan_no FROM fans)"); n > 0 {
		t.Errorf("%d entries of nobody are in line", n)
	}
	if n := in.rows("events WHERE type = 'fan.erased'"); n != 1 {
		t.Errorf("%d events say fan.erased, want 1", n)
	}
	for p, was := range before {
		if is := in.app("GET", p, "").want(200).body; is != was {
			t.Errorf("%s was %s\nand is %s", p, was, is)
		}
	}
	// What the fan had passes on.
	in.decide()
	in.opened("holding", "o1", "ben")
	in.opened("told", "o1", "ben")

	in.app("DELETE", path, "").want(204)
	in.app("GET", "/v1/shows/told/entries/"+url.PathEscape(erased), "").want(404)
	again := in.app("POST", "/v1/shows/bought/entries", `{"fan_id":"`+erased+`"}`, key, "join").want(201)
	if again.replayed() || again.get("entry") != 4.0 {
		t.Errorf("the same id named again is not a new fan: %s", again.body)
	}
	if n := in.fan(erased, "GET", "/v1/me/inbox", "").want(200).get("unread"); n != 0.0 {
		t.Errorf("a new fan's inbox has %v unread items", n)
	}
}

func TestAnUnknownFanIsErasedAlready(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	in.app("DELETE", "/v1/fans/nobody", "").want(204)
	if n := in.rows("fans") + in.rows("events"); n != 0 {
		t.Error("erasing an unknown fan left something behind")
	}
}

// TestAnErasureThatBrokeOffCanBeRepeated breaks it off in the second of three
// shows, and before its last transaction.
func TestAnErasureThatBrokeOffCanBeRepeated(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	for _, show := range []string{"s1", "s2", "s3"} {
		in.show(show)
		in.join(show, erased)
	}
	path := "/v1/fans/" + url.PathEscape(erased)
	in.exec(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$`)
	for _, trigger := range []string{`UPDATE ON entries FOR EACH ROW WHEN (NEW.show_no = 2)`, `DELETE ON fans FOR EACH ROW`} {
		in.exec(`CREATE TRIGGER fail BEFORE ` + trigger + ` EXECUTE FUNCTION fail()`)
		in.app("DELETE", path, "").want(500)
		in.exec(`DROP TRIGGER fail ON ` + strings.Fields(trigger)[2])
		if n := in.rows("fans"); n != 1 {
			t.Fatal("the fan is gone before the erasure was done")
		}
	}
	in.app("DELETE", path, "").want(204)
	if found := in.found(erased); len(found) > 0 {
		t.Errorf("the fan is still in %v", found)
	}
	if n := in.rows("entries WHERE state = 'left'"); n != 3 {
		t.Errorf("%d lines were left, want 3", n)
	}
}

// TestErasureAndJoinsDoNotMissEachOther has a fan join, with keys, while erased:
// whatever the order, no entry in line is nobody's, and no answer names who is not
// there.
func TestErasureAndJoinsDoNotMissEachOther(t *testing.T) {
	t.Parallel()
	in := newInstance(t)
	other := instanceOn(t, in.url)
	for i := range 4 {
		in.show(fmt.Sprint("s", i))
	}
	for round := range 10 {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				a := in.app("POST", fmt.Sprintf("/v1/shows/s%d/entries", i), `{"fan_id":"ada-7"}`, key, fmt.Sprint(round, i))
				if a.status >= 300 {
					t.Errorf("join: %d %s", a.status, a.body)
				}
			})
		}
		wg.Go(func() {
			if a := other.app("DELETE", "/v1/fans/ada-7", ""); a.status != 204 && a.status != 409 {
				t.Errorf("erase: %d %s", a.status, a.body)
			}
		})
		wg.Wait()
		if n := in.rows("entries e WHERE state = 'waiting' AND NOT EXISTS (SELECT FROM fans f WHERE f.fan_no = e.fan_no)"); n > 0 {
			t.Fatalf("%d entries of nobody are in line", n)
		}
	}
	in.app("DELETE", "/v1/fans/ada-7", "").want(204)
	if found := in.found("ada-7"); len(found) > 0 {
		t.Errorf("the fan is still in %v", found)
	}
}

func TestSignOutAndErasureCloseTheSockets(t *testing.T) {
	t.Parallel()
	first := newInstance(t)
	out := &sockets{}
	in := instanceOn(t, first.url, func(c *web.Config) { c.Sockets = out })
	in.show("s1")
	in.join("s1", "ada")
	in.app("POST", "/v1/fans/nobody/sign-out", "").want(204)
	in.app("POST", "/v1/fans/ada/sign-out", `{"device":"-"}`).want(422)
	if got := out.signedOut(); len(got) > 0 {
		t.Errorf("signed out %v", got)
	}
	in.app("POST", "/v1/fans/ada/sign-out", `{"device":"phone"}`).want(204)
	in.app("DELETE", "/v1/fans/ada", "").want(204)
	if got := out.signedOut(); !slices.Equal(got, []int64{1, 1, 1}) {
		t.Errorf("signed out %v, want fan 1 on request, and before and after erasure", got)
	}

	in.join("s1", "ben")
	out.err = errors.New("the database is away")
	in.app("POST", "/v1/fans/ben/sign-out", "").want(500)
	in.app("DELETE", "/v1/fans/ben", "").want(500)
	if n := in.rows("fans WHERE fan_id = 'ben'"); n != 1 {
		t.Error("the fan was erased, and nobody can close the sockets any more")
	}
}
