package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fanline/waitlist"
)

// decode reads one JSON value into v. It is stricter than encoding/json and says
// more: unknown and repeated fields are refused, names must match by case, and
// every input of a wrong type is named. Null leaves a field as it is, or, for a
// waitlist.Opt, asks for the default. prefix stands before the names.
func decode(data []byte, v any, prefix string) *Problem {
	if !utf8.Valid(data) {
		return unreadable(FieldError{orBody(prefix), orBody(prefix) + " is not valid UTF-8"})
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return unreadable(FieldError{orBody(prefix), syntax(data, err)})
	}
	if at := loneSurrogate(whole); at >= 0 {
		return unreadable(FieldError{orBody(prefix), fmt.Sprintf("half of a character at byte %d (a surrogate without its other half)", at)})
	}
	d := &decoder{}
	d.value(whole, reflect.ValueOf(v).Elem(), prefix)
	if len(d.errs) > 0 {
		return unreadable(d.errs...)
	}
	return nil
}

// loneSurrogate is where valid JSON escapes half of a UTF-16 pair, or -1.
// encoding/json would read every such half as the same character, so that
// different ids and labels became equal.
func loneSurrogate(data []byte) int {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++ // what is escaped; data is valid, so that there is something
		switch first := escaped(data[i:]); {
		case first < 0xd800 || first > 0xdfff:
		case first < 0xdc00 && len(data) > i+6 && data[i+5] == '\\' && isLow(escaped(data[i+6:])):
			i += 10
		default:
			return i - 1
		}
	}
	return -1
}

// escaped is the number of an escape such as u00e9, or -1 for another.
func escaped(b []byte) int64 {
	if len(b) < 5 || b[0] != 'u' {
		return -1
	}
	n, err := strconv.ParseInt(string(b[1:5]), 16, 32)
	if err != nil {
		return -1
	}
	return n
}

func isLow(r int64) bool { return 0xdc00 <= r && r <= 0xdfff }

func orBody(path string) string {
	if path == "" {
		return "body"
	}
	return path
}

// syntax says where the JSON breaks.
func syntax(data []byte, err error) string {
	at := len(data)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(int(e.Offset), len(data))
	}
	where := fmt.Sprintf("column %d", at-bytes.LastIndexByte(data[:at], '\n')-1)
	if n := bytes.Count(data[:at], []byte("\n")); n > 0 {
		where = fmt.Sprintf("line %d, %s", n+1, where)
	}
	return fmt.Sprintf("not valid JSON at %s: %v", where, err)
}

type decoder struct{ errs []FieldError }

func (d *decoder) wrong(path, must string) {
	if len(d.errs) < mostErrors {
		path = orBody(path)
		d.errs = append(d.errs, FieldError{path, path + " " + must})
	}
}

func (d *decoder) value(raw json.RawMessage, dst reflect.Value, path string) {
	null := string(raw) == "null"
	t := dst.Type()
	switch {
	case isOpt(t):
		dst.FieldByName("Set").SetBool(true)
		dst.FieldByName("Null").SetBool(null)
		if !null {
			d.value(raw, dst.FieldByName("Value"), path)
		}
	case null && path != "":
		// as if omitted
	case t.Kind() == reflect.Pointer:
		dst.Set(reflect.New(t.Elem()))
		d.value(raw, dst.Elem(), path)
	case isLeaf(t):
		if json.Unmarshal(raw, dst.Addr().Interface()) != nil {
			d.wrong(path, must(t))
		}
	case t.Kind() == reflect.Struct:
		d.object(raw, path, func(name string, val json.RawMessage) {
			if f, ok := field(t, name); ok {
				d.value(val, dst.FieldByIndex(f.Index), child(path, name))
			} else {
				d.wrong(child(path, name), "is not a field of this request")
			}
		})
	case t.Kind() == reflect.Map:
		dst.Set(reflect.MakeMap(t))
		d.object(raw, path, func(name string, val json.RawMessage) {
			e := reflect.New(t.Elem()).Elem()
			d.value(val, e, child(path, name))
			dst.SetMapIndex(reflect.ValueOf(name), e)
		})
	default:
		d.list(raw, dst, path)
	}
}

// object calls each for every member of the object in raw, in order.
func (d *decoder) object(raw json.RawMessage, path string, each func(name string, val json.RawMessage)) {
	if raw[0] != '{' {
		d.wrong(path, "must be an object")
		return
	}
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // raw is valid JSON: from here on nothing can fail
	for dec.More() {
		key, _ := dec.Token()
		name, _ := key.(string)
		var val json.RawMessage
		_ = dec.Decode(&val)
		if seen[name] {
			d.wrong(child(path, name), "stands there twice")
			continue
		}
		seen[name] = true
		each(name, val)
	}
}

func (d *decoder) list(raw json.RawMessage, dst reflect.Value, path string) {
	if raw[0] != '[' {
		d.wrong(path, "must be a list")
		return
	}
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items)
	dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
	for i, item := range items {
		at := path + "[" + strconv.Itoa(i) + "]"
		if string(item) == "null" && dst.Type().Elem() != rawType {
			d.wrong(at, "must not be null")
			continue
		}
		d.value(item, dst.Index(i), at)
	}
}

// child makes the path of a member; a name that a caller made up is cut short.
func child(path, name string) string {
	if len(name) > 80 {
		name = strings.ToValidUTF8(name[:80], "") + "..."
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

var (
	optPackage  = reflect.TypeFor[waitlist.Opt[int]]().PkgPath()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	timeType    = reflect.TypeFor[time.Time]()
	milliType   = reflect.TypeFor[waitlist.Milli]()
)

func isOpt(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == optPackage && strings.HasPrefix(t.Name(), "Opt[")
}

func isLeaf(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return reflect.PointerTo(t).Implements(unmarshaler)
	}
	return true
}

func field(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && tag == name && tag != "-" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// must says what a leaf must be.
func must(t reflect.Type) string {
	switch t {
	case timeType:
		return "must be an RFC 3339 time such as 2026-09-01T19:30:00Z"
	case milliType:
		return "must be a number with at most three decimals"
	}
	switch t.Kind() {
	case reflect.String:
		return "must be a text"
	case reflect.Bool:
		return "must be true or false"
	}
	return "must be a whole number"
}
