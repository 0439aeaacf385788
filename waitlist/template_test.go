package waitlist

import "testing"

func TestATextIsInTheFansLanguageOrElseInEnglish(t *testing.T) {
	t.Parallel()
	texts := Templates{
		"turn":          {"en": {Title: "turn en"}, "de": {Title: "turn de"}, "de-CH": {Title: "turn de-CH"}, "pt_br": {Title: "turn pt-BR"}},
		"result":        {"de": {Title: "result de"}},
		"result.filled": {"en": {Title: "filled en"}, "fr": {Title: "filled fr"}},
		"result.lapsed": {"fr": {Title: "lapsed fr"}},
	}
	for _, c := range []struct {
		locale string
		kinds  []string
		want   string
	}{
		{"", []string{"turn"}, "turn en"},
		{"en", []string{"turn"}, "turn en"},
		{"en-GB", []string{"turn"}, "turn en"},
		{"de-CH", []string{"turn"}, "turn de-CH"},
		{"DE_ch", []string{"turn"}, "turn de-CH"},
		{"de-AT", []string{"turn"}, "turn de"},
		{"de-Latn-CH", []string{"turn"}, "turn de"},
		{"den", []string{"turn"}, "turn en"},
		{"pt-BR", []string{"turn"}, "turn pt-BR"},
		{"pt", []string{"turn"}, "turn en"},
		{"ja", []string{"turn"}, "turn en"},
		{"fr", []string{"result.filled", "result"}, "filled fr"},
		{"de", []string{"result.filled", "result"}, "result de"}, // the language before the exact kind
		{"ja", []string{"result.filled", "result"}, "filled en"},
		{"ja", []string{"result.lapsed", "result"}, ""},
		{"de", []string{"result.cancelled"}, ""},
	} {
		text, ok := texts.For(c.locale, c.kinds...)
		if text.Title != c.want || ok != (c.want != "") {
			t.Errorf("%v for %q: %q, want %q", c.kinds, c.locale, text.Title, c.want)
		}
	}
	if _, ok := Templates(nil).For("de", "turn"); ok {
		t.Error("a text from nowhere")
	}
}

func TestLocalesMatterOnlyWhereThereIsAnotherLanguage(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool][]Templates{
		false: {nil, {"turn": {}}, {"turn": {"en": {}}}},
		true:  {{"turn": {"en": {}}, "result": {"en": {}, "de": {}}}, {"turn": {"en-GB": {}}}},
	} {
		for _, texts := range list {
			if texts.Languages() != want {
				t.Errorf("%v: %v", texts, !want)
			}
		}
	}
}
