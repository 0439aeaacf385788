package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderThatCannotBeUsedIsABadSettingWithARemedy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := &devCommand{Addr: "127.0.0.1:0", Data: file}
	err := d.Run(t.Context())
	var bad *badConfig
	if !errors.As(err, &bad) || bad.variable != "--data" || !strings.Contains(bad.what, "choose a folder") {
		t.Errorf("got %v", err)
	}
}

func TestDevThatIsStoppedBeforeItHasBegunIsStoppedAsAsked(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	d := &devCommand{Addr: "127.0.0.1:0", Data: filepath.Join(t.TempDir(), "data")}
	if err := d.Run(ctx); err != nil {
		t.Errorf("got %v", err)
	}
}
