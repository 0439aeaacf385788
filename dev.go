package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"fanline/sim"
	"fanline/sim/providers"
	"fanline/store"
	"fanline/store/embedded"
	"fanline/waitlist"
	"fanline/web/demo"
)

// What lets in here is for loopback alone: dev refuses any other address.
const (
	devKey    = "dev-key-for-loopback"
	devStaff  = "dev-password"
	devSecret = "dev-secret-for-loopback"
)

type devCommand struct {
	Addr        string `default:"127.0.0.1:8080" help:"Loopback address to serve on."`
	Data        string `default:".dev" help:"Folder of the private Postgres."`
	Demo        bool   `default:"true" negatable:"" help:"Play the demo: shows, fans and freed seats."`
	Stadium     int    `default:"200000" help:"Fans in the line of the larger show."`
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"Use this Postgres instead of a private one."`
	RedisURL    string `name:"redis-url" env:"REDIS_URL" help:"Use this Redis instead of one in this process."`
}

// Run runs everything until ctx ends.
func (d *devCommand) Run(ctx context.Context) error {
	host, _, err := net.SplitHostPort(d.Addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return &badConfig{"--addr", "dev serves loopback alone, such as 127.0.0.1:8080; use serve for anything else"}
	}
	if d.Stadium < 0 {
		return &badConfig{"--stadium", "must be 0 or more"}
	}
	logs, err := d.logFile()
	if err != nil {
		return err
	}
	defer logs.Close()
	s := d.settings()
	phones, err := startPhones(s)
	if err != nil {
		return err
	}
	defer phones.Close()
	stop, err := d.embed(ctx, s)
	defer stop()
	if ctx.Err() != nil {
		fmt.Println("\nstopped before it had begun; the same command begins again")
		return nil
	}
	if err != nil {
		return err
	}
	return d.serve(ctx, s, phones, logs)
}

// logFile takes the logs, so that the terminal is left to the story.
func (d *devCommand) logFile() (*os.File, error) {
	if err := os.MkdirAll(d.Data, 0o700); err != nil {
		return nil, notOurs(err)
	}
	f, err := os.OpenFile(filepath.Join(d.Data, "fanline.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, notOurs(err)
	}
	return f, nil
}

// notOurs says of a folder that cannot be used what to do.
func notOurs(err error) error {
	return &badConfig{"--data", err.Error() + "; choose a folder that is yours to write, as in make run ARGS=--data=/tmp/fanline"}
}

// inUse says how to run a second one.
func inUse(err error) error {
	return &badConfig{"--data", err.Error() + ", as in make run ARGS='--data=.dev2 --addr=127.0.0.1:8081'"}
}

func (d *devCommand) settings() *settings {
	return &settings{
		DatabaseURL: d.DatabaseURL, RedisURL: d.RedisURL, Addr: d.Addr, OpsAddr: "127.0.0.1:0",
		APIKeys: "dev:" + devKey, FanJWTSecret: devSecret, ReadThreshold: 10_000, ClaimsPerS: 200, Log: "info",
		AdminPassword: devStaff, AllowedOrigins: d.origins(), PublicURL: "http://" + d.Addr,
	}
}

// origins are the pages of this program, by either name of this machine.
func (d *devCommand) origins() string {
	_, port, _ := net.SplitHostPort(d.Addr) // Run has looked at it
	return fmt.Sprintf("http://%s,http://localhost:%s,http://127.0.0.1:%s", d.Addr, port, port)
}

// embed starts what is not given. stop ends it, and is never nil.
func (d *devCommand) embed(ctx context.Context, s *settings) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	if s.DatabaseURL == "" {
		fmt.Printf("starting a private Postgres in %s ...\n", d.Data)
		pg, err := embedded.StartPostgres(ctx, embedded.Config{Dir: filepath.Join(d.Data, "postgres")})
		switch {
		case errors.Is(err, embedded.ErrInUse):
			return stop, inUse(err)
		case errors.Is(err, fs.ErrPermission):
			return stop, notOurs(err)
		case err != nil:
			return stop, err
		}
		stops = append(stops, func() { _ = pg.Stop(context.Background()) })
		s.DatabaseURL = pg.URL()
	}
	if s.RedisURL == "" {
		r, err := embedded.StartRedis("")
		if err != nil {
			return stop, err
		}
		stops = append(stops, r.Stop)
		s.RedisURL = r.URL()
	}
	return stop, store.Migrate(ctx, s.DatabaseURL)
}

func (d *devCommand) serve(ctx context.Context, s *settings, phones *providers.All, logs io.Writer) (err error) {
	log, flush, err := s.logger(logs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()
	stage := newStage()
	if d.Demo {
		s.demo = demo.Handler(stage, log)
	}
	a, err := newApp(ctx, s, log)
	if bad := (*badConfig)(nil); errors.As(err, &bad) && bad.variable == "FANLINE_ADDR" {
		return &badConfig{"--addr", bad.what + "; choose another, as in make run ARGS=--addr=127.0.0.1:8081"}
	}
	if err != nil {
		return err
	}
	base := "http://" + a.public.Addr().String()
	if !d.Demo {
		fmt.Printf("Fanline serves %s (key %s; at /admin: admin, %s); Ctrl-C stops it\n", base, devKey, devStaff)
		return a.run(ctx)
	}
	playing, done := context.WithCancel(ctx)
	defer done()
	ended := make(chan error, 1)
	go func() { ended <- a.run(playing) }()
	err = d.play(playing, base, a.ops.Addr().String(), stage, phones)
	done()
	fmt.Println("\nstopping ...")
	if stopErr := <-ended; err == nil {
		err = stopErr
	}
	fmt.Printf("stopped; data and logs stay in %s, which may be deleted to begin afresh\n", d.Data)
	return err
}

// devWindow is how long a turn at the club is: a person has to find the button.
const devWindow = 20 * time.Second

func (d *devCommand) play(ctx context.Context, base, ops string, stage *stage, phones *providers.All) error {
	story, err := sim.NewStory(sim.StoryConfig{
		BaseURL: base, APIKey: devKey, JWTSecret: devSecret, Stadium: d.Stadium, ClubWindow: devWindow, Phones: phones,
		Out: os.Stdout, Terminal: isTerminal(os.Stdout),
		Addresses: []sim.Address{
			{Name: "fan page", URL: base + "/demo  (in two windows: a seat that one passes on goes to the next)"},
			{Name: "admin page", URL: base + "/admin  (name admin, password " + devStaff + ")"},
			{Name: "API", URL: base + "/docs"},
			{Name: "metrics", URL: "http://" + ops + "/metrics"},
		},
	})
	if err != nil {
		return err
	}
	stage.set(story)
	return story.Run(ctx)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type tokenCommand struct {
	Fan    string        `required:"" help:"The fan's id."`
	TTL    time.Duration `default:"1h" help:"How long the token is good."`
	Secret string        `env:"FANLINE_FAN_JWT_SECRET" help:"Secret to sign with (default: that of fanline dev)."`
}

// Run prints a token.
func (t *tokenCommand) Run() error {
	if err := waitlist.CheckFanID("the id", t.Fan); err != nil {
		return &badConfig{"--fan", err.Error()}
	}
	secret := t.Secret
	if secret == "" {
		secret = devSecret
	}
	fmt.Println(sim.Token(secret, t.Fan, t.TTL))
	return nil
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	fmt.Println("fanline", version, build())
	return nil
}

// build is the Go that built the program, what for, and of which revision where
// the build knew it.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	words := []string{info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "vcs.revision" {
			words = append(words, s.Value)
		}
	}
	return strings.Join(words, " ")
}
