package web

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// optional is a parameter that may be missing where its zero value means
// something. Its methods are huma's.
type optional[T any] struct {
	Value T
	set   bool
}

// Schema is that of the value.
func (optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver is where the value goes.
func (o *optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet notes whether there was one.
func (o *optional[T]) OnParamSet(isSet bool, _ any) { o.set = isSet }
