package main

import (
	"log/slog"

	"fanline/delivery"
	"fanline/notifier"
)

// anyRetire lets every address be retired.
type anyRetire struct{}

func (anyRetire) Note(notifier.Channel, delivery.Outcome) {}
func (anyRetire) May(notifier.Channel) bool               { return true }

// providers are those that are set up.
func (s *settings) providers(_ *slog.Logger) ([]delivery.Provider, error) { return nil, nil }
