package web

import "testing"

func TestHalfACharacterIsRefusedAndAWholeOneIsNot(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		`"a"`: false, `"\u00e9"`: false, `"\ud83d\ude00"`: false, `"\\ud800"`: false, `"\ud83d\ude00x"`: false, `"\uD83D\uDE00"`: false,
		`"\ud800"`: true, `"\udfff"`: true, `"\ud83d\u0041"`: true, `"\ud83dx"`: true, `"\ud83d\ud83d\ude00"`: true, `{"\udc00":1}`: true,
	} {
		if got := loneSurrogate([]byte(text)) >= 0; got != bad {
			t.Errorf("%s: refused %v, want %v", text, got, bad)
		}
		var v any
		if p := decode([]byte(text), &v, "x"); (p != nil) != bad {
			t.Errorf("%s: %v", text, p)
		}
	}
}
