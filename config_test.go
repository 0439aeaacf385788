package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeyIsTheTextItselfOrAFilesPath(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n"
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, []byte(pem), 0o600); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"": "", pem: pem, file: pem, strings.ReplaceAll(pem, "\n", `\n`): pem,
		` {"private_key": "a\\nb"}`: ` {"private_key": "a\\nb"}`, // line breaks in JSON are its own
	} {
		if got, err := textOrFile(given); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", given, got, err, want)
		}
	}
	if _, err := textOrFile("a secret by mistake"); err == nil || strings.Contains(err.Error(), "mistake") {
		t.Errorf("%v; want an error that does not tell", err)
	}
}
