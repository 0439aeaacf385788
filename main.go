// Command fanline is Fanline, all of it: `fanline serve` for one instance of many,
// `fanline dev` for everything on this machine with a demo.
//
// This package is the only one that sees every part: it reads the configuration
// (config.go, config_channels.go), joins the parts together (app.go), starts and stops
// them in order (parts.go), and shows their figures (figures.go). The rules are in
// package waitlist.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones are rules of the line; the machine may have none

	"github.com/alecthomas/kong"

	"fanline/store"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

type cli struct {
	Serve       serveCommand       `cmd:"" help:"Run one instance: HTTP, sockets, decisions and lanes."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database's tables to this release."`
	Dev         devCommand         `cmd:"" help:"Run all of it on this machine, with a demo and nothing to install."`
	Import      importCommand      `cmd:"" help:"Put the fans of a file in a show's line, over the API."`
	Check       checkCommand       `cmd:"" help:"Look at every configured dependency."`
	Token       tokenCommand       `cmd:"" help:"Print a fan token for development."`
	AdminHash   adminHashCommand   `cmd:"" help:"Read a password and print its hash, for FANLINE_ADMIN_USERS."`
	WebPushKeys webPushKeysCommand `cmd:"" name:"webpush-keys" help:"Make a pair of keys for Web Push, as FANLINE_WEBPUSH_* settings."`

	CallbackSecrets callbackSecretsCommand `cmd:"" name:"callback-secrets" help:"Print what a mail service's and the fan app's calls are to be signed with."`

	Version versionCommand `cmd:"" help:"Print the version and how it was built."`
}

// Exit codes of the contract.
const (
	exitStopped = iota
	exitFailed
	exitBadConfig
)

// badConfig is a wrong setting, named with its variable.
type badConfig struct{ variable, what string }

func (e *badConfig) Error() string { return e.variable + ": " + e.what }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c cli
	parser, err := kong.New(&c, kong.Name("fanline"),
		kong.Description("The waitlist notifier: when a held seat frees up, fans hear of it in the order they joined."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "fanline:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fanline: %v; fanline --help says what there is\n", err)
		return exitBadConfig
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command.BindTo(ctx, (*context.Context)(nil))
	return report(command.Run())
}

func report(err error) int {
	var bad *badConfig
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return exitStopped
	case errors.As(err, &bad):
		fmt.Fprintln(os.Stderr, "fanline: bad configuration:", bad)
		return exitBadConfig
	case errors.Is(err, store.ErrPooler):
		fmt.Fprintln(os.Stderr, "fanline: bad configuration:", err) // it names the variable
		return exitBadConfig
	}
	fmt.Fprintln(os.Stderr, "fanline:", err)
	return exitFailed
}

type migrateCommand struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"postgres://user:password@host:5432/name"`
}

// Run migrates.
func (m *migrateCommand) Run(ctx context.Context) error {
	if err := checkDatabaseURL(m.DatabaseURL); err != nil {
		return err
	}
	if err := store.Migrate(ctx, m.DatabaseURL); err != nil {
		return err
	}
	fmt.Println("the database is up to date")
	return nil
}

type serveCommand struct {
	settings
	Migrate bool `default:"true" negatable:"" help:"Migrate before serving."`
}

// Run serves until ctx ends.
func (s *serveCommand) Run(ctx context.Context) (err error) {
	log, flush, err := s.logger(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	if err := s.check(); err != nil {
		return err
	}
	if s.Migrate {
		if err := store.Migrate(ctx, s.DatabaseURL); err != nil {
			return err
		}
	}
	a, err := newApp(ctx, &s.settings, log)
	if err != nil {
		return err
	}
	if s.FanJWTSecret+s.FanJWTPublicKey+s.FanJWKSURL == "" {
		log.Warn("no fan can come in: FANLINE_FAN_JWT_SECRET, FANLINE_FAN_JWT_PUBLIC_KEY and FANLINE_FAN_JWKS_URL are not set")
	}
	log.Info("serving", "version", version, "addr", a.public.Addr().String(), "ops_addr", a.ops.Addr().String())
	return a.run(ctx)
}
