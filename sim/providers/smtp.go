package providers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

// SMTPConfig of a fake.
type SMTPConfig struct {
	Addr           string // "" is a free port of loopback
	Phones         *Phones
	Now            func() time.Time
	User, Password string // what must be logged in with; "" is nobody
	// TLS: it offers STARTTLS, with a certificate that nobody vouches for.
	TLS bool
}

// SMTP is a mail server, with the mailboxes.
type SMTP struct {
	service
	// Senders scripts the answers to MAIL FROM, by the sender's address.
	Senders Script

	cfg      SMTPConfig
	tls      *tls.Config
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	total int
}

// StartSMTP starts it.
func StartSMTP(cfg SMTPConfig) (*SMTP, error) {
	s := &SMTP{service: newService(cfg.Phones, cfg.Now), cfg: cfg, conns: map[net.Conn]bool{}}
	if cfg.TLS {
		cert, err := selfSigned()
		if err != nil {
			return nil, err
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	var err error
	if s.listener, err = net.Listen("tcp", cfg.Addr); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s, nil
}

// Addr is its host and port.
func (s *SMTP) Addr() string { return s.listener.Addr().String() }

// Close ends it.
func (s *SMTP) Close() {
	s.stop()
	_ = s.listener.Close()
	s.Drop()
	s.wg.Wait()
}

// Drop ends every connection, as a server does with those that are idle.
func (s *SMTP) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// Connections is how many there were.
func (s *SMTP) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fake"}, NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (s *SMTP) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.total++
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				_ = c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			(&mailTalk{server: s, conn: c, text: textproto.NewConn(c)}).run()
		})
		if s.ctx.Err() != nil {
			_ = c.Close() // it came while Close was at work
		}
	}
}

const mailIdle = 5 * time.Minute

// MailCode is an Answer of a mail server from its code and text, as "550 5.1.1 no such user".
func MailCode(line string) Answer {
	code, reason, _ := strings.Cut(line, " ")
	n, _ := strconv.Atoi(code)
	return Answer{Status: n, Reason: reason}
}
