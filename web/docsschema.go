package web

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// fields are those of an object and of what is in it, by path; asked says that the
// caller sends them.
func (d docsMaker) fields(at string, s *huma.Schema, asked bool, depth int) (list []docsField) {
	s = d.resolve(s)
	if s == nil || depth > 4 {
		return nil
	}
	for _, name := range inOrder(s) {
		p := s.Properties[name]
		f := d.field(at+name, p, asked && slices.Contains(s.Required, name))
		list = append(list, f)
		inner, suffix := d.resolve(p), "."
		if inner != nil && inner.Type == huma.TypeArray {
			inner, suffix = d.resolve(inner.Items), "[]."
		}
		if inner != nil && len(inner.Properties) > 0 {
			list = append(list, d.fields(at+name+suffix, inner, asked, depth+1)...)
		}
	}
	return list
}

func (d docsMaker) field(name string, p *huma.Schema, required bool) docsField {
	s := d.resolve(p)
	f := docsField{Name: name, Type: d.typeOf(p)}
	var words []string
	if required {
		words = append(words, "Required.")
	}
	if text := cmp.Or(p.Description, s.Description); text != "" {
		words = append(words, text)
	}
	if len(s.Enum) > 0 {
		words = append(words, "One of "+strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Enum), "[]"), " ", ", ")+".")
	}
	if s.PatternDescription != "" {
		words = append(words, s.PatternDescription+".")
	}
	if s.Default != nil {
		words = append(words, fmt.Sprintf("By default %v.", reflect.Indirect(reflect.ValueOf(s.Default))))
	}
	f.Text = strings.Join(append(words, bounds(s)...), " ")
	return f
}

func bounds(s *huma.Schema) (words []string) {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		words = append(words, number(*s.Minimum)+" to "+number(*s.Maximum)+".")
	case s.ExclusiveMinimum != nil && s.Maximum != nil:
		words = append(words, "Above "+number(*s.ExclusiveMinimum)+" to "+number(*s.Maximum)+".")
	case s.MaxLength != nil:
		words = append(words, fmt.Sprintf("At most %d characters.", *s.MaxLength))
	case s.MaxItems != nil:
		words = append(words, fmt.Sprintf("At most %d.", *s.MaxItems))
	}
	return words
}

func (d docsMaker) typeOf(p *huma.Schema) string {
	s := d.resolve(p)
	word := s.Type
	switch {
	case s.Format == "date-time":
		word = "time"
	case s.Type == huma.TypeArray:
		word = "list of " + d.typeOf(s.Items) + "s"
	case word == "":
		word = "any"
	}
	if s.Nullable || p.Nullable || len(p.AnyOf) > 0 {
		word += " or null"
	}
	return word
}

// resolve follows a reference, and takes the first of alternatives.
func (d docsMaker) resolve(s *huma.Schema) *huma.Schema {
	for s != nil {
		switch {
		case s.Ref != "":
			s = d.schemas.SchemaFromRef(s.Ref)
		case len(s.AnyOf) > 0:
			s = s.AnyOf[0]
		default:
			return s
		}
	}
	return nil
}

// inOrder are an object's fields: the required ones as they are declared, then the
// rest by name.
func inOrder(s *huma.Schema) []string {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// example makes a value of a schema from the examples of its fields.
func (d docsMaker) example(s *huma.Schema, depth int) any {
	s = d.resolve(s)
	switch {
	case s == nil || depth > 6:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == huma.TypeArray:
		return []any{d.example(s.Items, depth+1)}
	case s.Type == huma.TypeBoolean:
		return s.Default == true
	case s.Default != nil:
		return s.Default
	case s.Type == huma.TypeObject:
		var o object
		for _, name := range inOrder(s) {
			o = append(o, member{name, d.example(s.Properties[name], depth+1)})
		}
		return o
	}
	return nil
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members as they come.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b = append(append(strconv.AppendQuote(b, m.name), ':'), value...)
	}
	return append(b, '}'), nil
}

func indented(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}
