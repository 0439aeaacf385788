package waitlist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNewOpeningCheckNamesTheFieldThatIsWrong(t *testing.T) {
	many := make([]string, MaxQuantity+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	seats := func(s ...string) func(*NewOpening) {
		return func(o *NewOpening) { o.Quantity, o.Seats = 0, s }
	}
	for _, c := range []struct {
		name   string
		change func(*NewOpening)
		field  string
	}{
		{"good", func(*NewOpening) {}, ""},
		{"most", func(o *NewOpening) { o.Quantity = MaxQuantity }, ""},
		{"seats", seats("A-1", "A-2"), ""},
		{"most seats", seats(many[:MaxQuantity]...), ""},
		{"longest label", seats(strings.Repeat("é", MaxLabel)), ""},
		{"adjacent seats", func(o *NewOpening) { seats("A-1")(o); o.Adjacent = true }, ""},
		{"no id", func(o *NewOpening) { o.ID = "" }, "opening"},
		{"id", func(o *NewOpening) { o.ID = "a@b" }, "opening"},
		{"nothing", func(o *NewOpening) { o.Quantity = 0 }, "quantity"},
		{"both", func(o *NewOpening) { o.Seats = []string{"A-1"} }, "quantity"},
		{"negative", func(o *NewOpening) { o.Quantity = -1 }, "quantity"},
		{"too many", func(o *NewOpening) { o.Quantity = MaxQuantity + 1 }, "quantity"},
		{"too many seats", seats(many...), "quantity"},
		{"no label", seats("A-1", ""), "seats"},
		{"label too long", seats(strings.Repeat("x", MaxLabel+1)), "seats"},
		{"label twice", seats("A-1", "A-2", "A-1"), "seats"},
		{"label with a line break", seats("A\n1"), "seats"},
		{"adjacent without seats", func(o *NewOpening) { o.Adjacent = true }, "adjacent"},
		{"no reason", func(o *NewOpening) { o.Reason = "" }, "reason"},
		{"reason", func(o *NewOpening) { o.Reason = "whim" }, "reason"},
		{"tier", func(o *NewOpening) { o.Tier = strings.Repeat("x", MaxTier+1) }, "tier"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := NewOpening{ID: "o-1", Quantity: 1, Reason: "returned"}
			c.change(&o)
			wantWrong(t, o.Check(), c.field)
		})
	}
	for _, reason := range []string{"card_declined", "hold_timeout", "returned", "new_inventory"} {
		o := NewOpening{ID: "o-1", Quantity: 1, Reason: reason}
		wantWrong(t, o.Check(), "")
	}
}

func TestFingerprintIsEqualForTheSameReportAfterDefaults(t *testing.T) {
	base := func() NewOpening { return NewOpening{ID: "o", Quantity: 2, Reason: "returned"} }
	print := func(o NewOpening) []byte {
		b, err := o.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	same := base()
	same.Seats = []string{}
	if !bytes.Equal(print(base()), print(same)) {
		t.Errorf("no seats and an empty list of seats differ: %s, %s", print(base()), print(same))
	}
	null := base()
	if err := json.Unmarshal([]byte(`{"mode": null, "hold_s": null}`), &null.Policy); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(print(base()), print(null)) {
		t.Errorf("nothing sent and null sent differ: %s, %s", print(base()), print(null))
	}
	for name, change := range map[string]func(*NewOpening){
		"quantity": func(o *NewOpening) { o.Quantity = 3 },
		"seats":    func(o *NewOpening) { o.Quantity, o.Seats = 0, []string{"A", "B"} },
		"order":    func(o *NewOpening) { o.Quantity, o.Seats = 0, []string{"B", "A"} },
		"tier":     func(o *NewOpening) { o.Tier = "A" },
		"reason":   func(o *NewOpening) { o.Reason = "card_declined" },
		"adjacent": func(o *NewOpening) { o.Adjacent = true },
		"policy":   func(o *NewOpening) { o.Policy.HoldS = ptr(600) },
	} {
		o := base()
		change(&o)
		if bytes.Equal(print(base()), print(o)) {
			t.Errorf("%s does not tell reports apart", name)
		}
	}
}

func TestSizeIsTheNumberOfSeatsReported(t *testing.T) {
	for want, o := range map[int]NewOpening{5: {Quantity: 5}, 2: {Seats: []string{"A", "B"}}} {
		if got := o.Size(); got != want {
			t.Errorf("size %d, want %d", got, want)
		}
	}
	o := Opening{Quantity: 5, Free: 1, Held: 1, Confirmed: 3}
	if got := o.SeatsLeft(); got != 2 {
		t.Errorf("%d seats left", got)
	}
}
