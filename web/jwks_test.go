package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFanKeysThatCannotBeHadAreNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		ok     bool
	}{
		"a key":       {200, `{"keys":[{"kty":"EC"}]}`, true},
		"none":        {200, `{"keys":[]}`, false},
		"a page":      {200, `<html>`, false},
		"a list":      {200, `[]`, false},
		"not found":   {404, `{"keys":[{"kty":"EC"}]}`, false},
		"out of work": {503, ``, false},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		if err := CheckJWKS(t.Context(), srv.URL); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
		if CheckJWKS(t.Context(), srv.URL) == nil {
			t.Errorf("%s: nobody is there", name)
		}
	}
}
