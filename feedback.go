package main

import (
	"context"
	"fmt"
	"log/slog"

	"fanline/delivery"
	"fanline/delivery/callback"
	"fanline/delivery/twilio"
	"fanline/store"
)

// newFeedback makes what takes the calls of providers. Twilio's are believed where
// it is set up and was told where to call.
func (a *app) newFeedback(ctx context.Context, s *settings) error {
	secret, err := a.store.CallbackSecret(ctx)
	if err != nil {
		return err
	}
	readers := map[string]delivery.CallReader{
		"email": &callback.Email{Secret: callback.EmailSecret(secret)},
		"push":  &callback.Push{Secret: callback.PushSecret(secret)},
	}
	if s.twilio().on() && s.PublicURL != "" {
		if readers["twilio"], err = twilio.NewCalls(s.twilioConfig()); err != nil {
			return s.twilio().bad(err)
		}
	}
	a.feedback, err = delivery.NewFeedback(delivery.FeedbackConfig{
		Store: a.store, Retire: a.retire, Slow: a.limits.Slow, Opened: a.lines.Wake, Readers: readers, Clock: a.dbClock, Log: a.log,
	})
	return err
}

type callbackSecretsCommand struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"postgres://user:password@host:5432/name"`
}

// Run prints the secrets, which are made of one in the database.
func (c callbackSecretsCommand) Run(ctx context.Context) error {
	if err := checkDatabaseURL(c.DatabaseURL); err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: c.DatabaseURL, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer s.Close()
	secret, err := s.CallbackSecret(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("email %s\npush  %s\n",
		callback.SecretText(callback.EmailSecret(secret)), callback.SecretText(callback.PushSecret(secret)))
	return nil
}
