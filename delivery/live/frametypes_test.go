package live

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEveryFrameOfTheCodeIsDocumented reads frames.go: each type of a frame that is sent, and each type that is taken.
func TestEveryFrameOfTheCodeIsDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "frames.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sent, taken []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if strings.HasSuffix(n.Name.Name, "Frame") {
				sent = append(sent, n.Name.Name)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				if lit, ok := e.(*ast.BasicLit); ok {
					name, _ := strconv.Unquote(lit.Value)
					taken = append(taken, name)
				}
			}
		}
		return true
	})
	var documented, names []string
	for _, f := range ServerFrames() {
		documented = append(documented, reflect.TypeOf(f.Form).Name())
	}
	for _, f := range ClientFrames() {
		names = append(names, f.Name)
	}
	for _, list := range [][]string{sent, taken, documented, names} {
		slices.Sort(list)
	}
	if !slices.Equal(sent, documented) {
		t.Errorf("sent %v, documented %v", sent, documented)
	}
	if !slices.Equal(taken, names) {
		t.Errorf("taken %v, documented %v", taken, names)
	}
}

// TestTheExamplesOfFramesAreFrames encodes or takes each as the code does.
func TestTheExamplesOfFramesAreFrames(t *testing.T) {
	t.Parallel()
	for _, f := range ClientFrames() {
		if r, err := parse([]byte(f.Example)); err != nil || r.Type != f.Name {
			t.Errorf("%s: %+v, %v", f.Example, r, err)
		}
	}
	for _, f := range append(ServerFrames(), ClientFrames()...) {
		v := reflect.New(reflect.TypeOf(f.Form))
		dec := json.NewDecoder(strings.NewReader(f.Example))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v.Interface()); err != nil {
			t.Errorf("%s: %v", f.Example, err)
		}
		if again, err := json.Marshal(v.Interface()); err != nil || !bytes.Equal(unescaped(again), []byte(f.Example)) {
			t.Errorf("the example %s is encoded as %s, %v", f.Example, again, err)
		}
	}
}

func unescaped(b []byte) []byte {
	return []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(b)))
}
