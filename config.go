package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/store"
	"fanline/web"
	"fanline/web/admin"
)

// settings are what an instance is told by flags and the environment.
type settings struct {
	DatabaseURL string `name:"database-url" env:"DATABASE_URL" help:"Postgres, as postgres://user:password@host:5432/name."`
	RedisURL    string `name:"redis-url" env:"REDIS_URL" help:"Redis, as redis://:password@host:6379/0; ?addr= names more nodes of a cluster, ?master_name= what sentinels watch."`

	Addr    string `env:"FANLINE_ADDR" default:":8080" help:"Public address."`
	OpsAddr string `env:"FANLINE_OPS_ADDR" default:"127.0.0.1:9090" help:"Operations address, with /metrics."`

	PublicURL     string `name:"public-url" env:"FANLINE_PUBLIC_URL" help:"Where browsers and providers reach this, as https://tickets.example.com."`
	AdminUsers    string `env:"FANLINE_ADMIN_USERS" help:"Staff who may log in at /admin, as name:hash,... (fanline admin-hash makes hashes)."`
	AdminPassword string `env:"FANLINE_ADMIN_PASSWORD" help:"Password of a single user, admin, instead."`

	APIKeys         string `name:"api-keys" env:"FANLINE_API_KEYS" help:"Ticketing apps that may call, as name:secret with commas between."`
	FanJWTSecret    string `name:"fan-jwt-secret" env:"FANLINE_FAN_JWT_SECRET" help:"Secret of the fans' tokens (HS256)."`
	FanJWTPublicKey string `name:"fan-jwt-public-key" env:"FANLINE_FAN_JWT_PUBLIC_KEY" help:"Public key of the fans' tokens, PEM or its file."`
	FanJWKSURL      string `name:"fan-jwks-url" env:"FANLINE_FAN_JWKS_URL" help:"Where the keys of the fans' tokens are published."`
	FanJWTAudience  string `name:"fan-jwt-audience" env:"FANLINE_FAN_JWT_AUDIENCE" help:"Audience that the tokens must name."`
	FanJWTIssuer    string `name:"fan-jwt-issuer" env:"FANLINE_FAN_JWT_ISSUER" help:"Issuer that the tokens must name."`
	AllowedOrigins  string `env:"FANLINE_ALLOWED_ORIGINS" help:"Web origins that may call for fans, as https://host with commas between."`

	Lanes         string `env:"FANLINE_LANES" help:"Lanes that this process works: transactional,turns,bulk (default all)."`
	ReadThreshold int64  `env:"FANLINE_READ_THRESHOLD" default:"10000" help:"More fans than this waiting, and a show is served by strategy read."`

	ClaimsPerS int `name:"claims-per-s" env:"FANLINE_CLAIMS_PER_S" default:"200" help:"Claims a second that reach one show; more are told to try again."`

	Limits string `env:"FANLINE_LIMITS" help:"What providers allow, as fcm=10000/s,twilio=100/s;transactional=20% (the share that only urgent messages may use)."`

	channelSettings `embed:""`

	// demo is the fan page, of dev alone.
	demo http.Handler

	KafkaBrokers string `env:"FANLINE_KAFKA_BROKERS" help:"Kafka to export the event stream to, as host:9092,..."`
	KafkaTopic   string `env:"FANLINE_KAFKA_TOPIC" help:"The topic that events are written to."`

	OTLPEndpoint string `name:"otel-exporter-otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"OpenTelemetry collector that traces are sent to, as http://127.0.0.1:4318; without one nothing is traced."`

	Log string `env:"FANLINE_LOG" default:"info" help:"Least level that is logged: debug, info, warn or error."`
}

// check names the first setting that is missing or wrong.
func (s *settings) check() error {
	if err := checkDatabaseURL(s.DatabaseURL); err != nil {
		return err
	}
	switch {
	case s.RedisURL == "":
		return &badConfig{"REDIS_URL", "is required, as redis://host:6379/0"}
	case s.ReadThreshold < 1:
		return &badConfig{"FANLINE_READ_THRESHOLD", "must be 1 or more"}
	}
	if s.ClaimsPerS < 1 {
		return &badConfig{"FANLINE_CLAIMS_PER_S", "must be 1 or more"}
	}
	keys, err := web.ParseAPIKeys(s.APIKeys)
	if err != nil {
		return &badConfig{"FANLINE_API_KEYS", err.Error()}
	}
	if len(keys) == 0 {
		return &badConfig{"FANLINE_API_KEYS", "is required, as name:secret,...: without one nobody could call"}
	}
	if _, err := delivery.ParseLimits(s.Limits); err != nil {
		return &badConfig{"FANLINE_LIMITS", err.Error()}
	}
	if (s.KafkaBrokers == "") != (s.KafkaTopic == "") {
		return &badConfig{"FANLINE_KAFKA_TOPIC", "goes together with FANLINE_KAFKA_BROKERS; set both or neither"}
	}
	if _, err := s.lanes(); err != nil {
		return err
	}
	if err := s.checkChannels(); err != nil {
		return err
	}
	return s.checkEdge()
}

// checkEdge looks at what Redis and the outside are reached by. It opens nothing: a
// wrong setting is named before a database is waited for or migrated.
func (s *settings) checkEdge() error {
	auth, err := s.fans()
	if err != nil {
		return err
	}
	if err := auth.Check(); err != nil {
		return &badConfig{s.fansVariable(), err.Error()}
	}
	if _, err := s.staff(); err != nil {
		return err
	}
	if s.OTLPEndpoint != "" {
		if _, err := collector(s.OTLPEndpoint); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		variable string
		wrong    error
	}{
		{"REDIS_URL", checkRedisURL(s.RedisURL)},
		{"FANLINE_PUBLIC_URL", checkPublicURL(s.PublicURL)},
		{"FANLINE_ALLOWED_ORIGINS", web.CheckOrigins(list(s.AllowedOrigins))},
		{"FANLINE_ADDR", checkAddr(s.Addr)},
		{"FANLINE_OPS_ADDR", checkAddr(s.OpsAddr)},
	} {
		if c.wrong != nil {
			return &badConfig{c.variable, c.wrong.Error()}
		}
	}
	return nil
}

func checkRedisURL(url string) error {
	r, err := store.OpenRedis(url) // connects when it is first asked
	if err != nil {
		return err
	}
	return r.Close()
}

func checkPublicURL(url string) error {
	if url == "" {
		return nil
	}
	_, err := admin.ParsePublicURL(url)
	return err
}

// checkAddr leaves open whether the address can be bound.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	_, err = net.LookupPort("tcp", port)
	return err
}

// checkDatabaseURL says nothing of what stands in it: a password may.
func checkDatabaseURL(url string) error {
	const like = "as postgres://user:password@host:5432/name"
	if url == "" {
		return &badConfig{"DATABASE_URL", "is required, " + like}
	}
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return &badConfig{"DATABASE_URL", "cannot be read; it is given " + like}
	}
	return nil
}

// lanes are those to work; nil means all.
func (s *settings) lanes() ([]notifier.Lane, error) {
	var lanes []notifier.Lane
	for _, name := range list(s.Lanes) {
		if !slices.Contains(notifier.Lanes, notifier.Lane(name)) {
			return nil, &badConfig{"FANLINE_LANES", "there is no lane " + name + "; the lanes are transactional, turns and bulk"}
		}
		lanes = append(lanes, notifier.Lane(name))
	}
	return lanes, nil
}

// fans says which fan tokens are genuine.
func (s *settings) fans() (web.FanAuth, error) {
	key, err := textOrFile(s.FanJWTPublicKey)
	if err != nil {
		return web.FanAuth{}, &badConfig{"FANLINE_FAN_JWT_PUBLIC_KEY", err.Error()}
	}
	return web.FanAuth{
		Secret: s.FanJWTSecret, PublicKey: key, JWKSURL: s.FanJWKSURL,
		Audience: s.FanJWTAudience, Issuer: s.FanJWTIssuer,
	}, nil
}

// fansVariable is where the fans' tokens are set up.
func (s *settings) fansVariable() string {
	switch {
	case s.FanJWTPublicKey != "":
		return "FANLINE_FAN_JWT_PUBLIC_KEY"
	case s.FanJWKSURL != "":
		return "FANLINE_FAN_JWKS_URL"
	}
	return "FANLINE_FAN_JWT_SECRET"
}

// textOrFile is a key or a credential that stands in the setting itself or in the file
// it names. An error says nothing of what stands there.
func textOrFile(v string) (string, error) {
	switch text := strings.TrimSpace(v); {
	case text == "", strings.HasPrefix(text, "{"):
		return v, nil
	case strings.Contains(text, "-----BEGIN"):
		// An environment that holds one line only has its line breaks written out.
		return strings.ReplaceAll(v, `\n`, "\n"), nil
	}
	b, err := os.ReadFile(v)
	if err != nil {
		return "", errors.New("is neither a key nor a file that can be read")
	}
	return string(b), nil
}

// list splits "a, b" at commas.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// logger logs to w, some lines at a time. flush writes those that wait; call it at the
// end.
func (s *settings) logger(w io.Writer) (log *slog.Logger, flush func() error, err error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.Log)); err != nil {
		return nil, nil, &badConfig{"FANLINE_LOG", "must be debug, info, warn or error"}
	}
	b := newLogBuffer(w)
	return slog.New(urgentHandler{slog.NewJSONHandler(b, &slog.HandlerOptions{Level: level}), b}), b.Close, nil
}
