package client

import (
	"regexp"
	"slices"
	"testing"
)

// TestTheTypesNameWhatTheClientHas compares the public members of the class.
func TestTheTypesNameWhatTheClientHas(t *testing.T) {
	t.Parallel()
	class := regexp.MustCompile(`(?s)export class Fanline .*?\n}`)
	members := func(text []byte, pattern string) (names []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(class.Find(text), -1) {
			names = append(names, string(m[1]))
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	has := members(script, `(?m)^  (?:async |get )?([a-zA-Z]\w*)\(`)
	says := members(types, `(?m)^  (?:readonly )?([a-zA-Z]\w*)[(:]`)
	says = slices.DeleteFunc(says, func(name string) bool { return name == "addEventListener" || name == "removeEventListener" })
	// The two of EventTarget alone are declared again, for the types of events.
	more := regexp.MustCompile(`(?m)^  (addEventListener|removeEventListener)<`).FindAllSubmatch(types, -1)
	if !slices.Equal(has, says) || len(more) != 2 {
		t.Errorf("the client has %v,\nits types say %v", has, says)
	}
	events := map[string]bool{}
	for _, m := range regexp.MustCompile(`#emit\("(\w+)"`).FindAllSubmatch(script, -1) {
		events[string(m[1])] = true
	}
	typed := regexp.MustCompile(`(?s)export interface Events {(.*?)\n}`).FindSubmatch(types)[1]
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): CustomEvent`).FindAllSubmatch(typed, -1) {
		if !events[string(m[1])] {
			t.Errorf("the types have the event %s, which never comes", m[1])
		}
		delete(events, string(m[1]))
	}
	for name := range events {
		t.Errorf("the types lack the event %s", name)
	}
}
