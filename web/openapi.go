package web

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fanline/notifier"
	"fanline/waitlist"
)

// describe fills in what the document says of the whole.
func describe(o *huma.OpenAPI) {
	o.Info.Description = "Tells the fans on a show's waitlist that a seat opened. Times are RFC 3339 in UTC with milliseconds; " +
		"durations are whole seconds. Errors are application/problem+json with a code. Unknown fields and parameters are refused."
	o.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"apiKey":   {Type: "http", Scheme: "bearer", Description: "The ticketing app's API key: its secret alone."},
		"fanToken": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A JWT whose sub is the fan id; HS256, RS256, ES256 or EdDSA; exp is required."},
	}
	aliases(o.Components.Schemas)
}

// aliases say how types of other packages look in JSON.
func aliases(schemas huma.Registry) {
	schemas.RegisterTypeAlias(reflect.TypeFor[notifier.Stamp](), reflect.TypeFor[time.Time]())
	schemas.RegisterTypeAlias(reflect.TypeFor[waitlist.Milli](), reflect.TypeFor[float64]())
	schemas.RegisterTypeAlias(reflect.TypeFor[notifier.Item](), reflect.TypeFor[Item]())
}

// Item documents notifier.Item.
type Item struct {
	ID        string          `json:"id" example:"turn:tuesday-42:freed-7"`
	Kind      string          `json:"kind" enum:"turn,result,announcement,message"`
	Type      string          `json:"type,omitempty" doc:"The caller's word, of a message."`
	Lane      string          `json:"lane" enum:"transactional,turns,bulk"`
	ShowID    string          `json:"show_id,omitempty"`
	OpeningID string          `json:"opening_id,omitempty"`
	Title     string          `json:"title"`
	Body      string          `json:"body"`
	Data      json.RawMessage `json:"data,omitempty"`
	Seats     int             `json:"seats,omitempty" doc:"The party size."`
	State     string          `json:"state,omitempty" enum:"open,claimed,over,filled,cancelled,confirmed,lapsed" doc:"Of a turn open, claimed or over; of a result filled, cancelled, confirmed or lapsed."`
	OpensAt   *time.Time      `json:"opens_at,omitempty"`
	ClosesAt  *time.Time      `json:"closes_at,omitempty"`
	CreatedAt time.Time       `json:"created_at" doc:"Since when it exists."`
	ReadAt    *time.Time      `json:"read_at" nullable:"true"`
}
