package waitlist

import (
	"bytes"
	"encoding/json"
)

// Opt is a field of a change: omitted (leave it), null (the default) or a value.
type Opt[T any] struct {
	// Set says that the field was sent at all.
	Set bool
	// Null says that it was sent as null.
	Null  bool
	Value T
}

// Some is an Opt with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Default is an Opt that asks for the default.
func Default[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// UnmarshalJSON is called only for a field that is present. It refuses unknown
// fields inside, as the contract does everywhere; the decoder of the whole body
// cannot, since it does not look in here.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(&o.Value)
}

// Apply changes v as the field asks: not at all, to def, or to the value.
func (o Opt[T]) Apply(v *T, def T) {
	switch {
	case !o.Set:
	case o.Null:
		*v = def
	default:
		*v = o.Value
	}
}
