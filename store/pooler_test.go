package store

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pooler is as much of one as the start of a program sees: it lets everybody in,
// unless with a parameter that it does not know, and says which session each query
// came to.
func pooler(t *testing.T, refuse string, session func(conn, query int) int) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var conns atomic.Int64
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n := int(conns.Add(1))
			go pool(c, refuse, func(query int) int { return session(n, query) })
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return "postgres://u@" + ln.Addr().String() + "/d?sslmode=disable"
}

// pool serves one client until it goes.
func pool(c net.Conn, refuse string, session func(query int) int) {
	defer c.Close()
	b := pgproto3.NewBackend(c, c)
	start, err := b.ReceiveStartupMessage()
	if err != nil {
		return
	}
	if m, ok := start.(*pgproto3.StartupMessage); ok && refuse != "" && m.Parameters[refuse] != "" {
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + refuse})
		_ = b.Flush()
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for query := 1; b.Flush() == nil; query++ {
		if m, err := b.Receive(); err != nil {
			return
		} else if _, ok := m.(*pgproto3.Query); !ok {
			return
		}
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("pg_backend_pid"), DataTypeOID: 23, DataTypeSize: 4}}})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(strconv.Itoa(session(query)))}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

func TestAPoolerInTransactionModeIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse  string
		session func(conn, query int) int
		says    string // "": it is taken
	}{
		"session mode":     {"", func(conn, _ int) int { return conn }, ""},
		"an idle pooler":   {"", func(int, int) int { return 7 }, "pool_mode = session"},
		"a busy pooler":    {"", func(conn, query int) int { return 10*conn + query }, "pool_mode = session"},
		"unknown settings": {"enable_seqscan", nil, "unsupported startup parameter: enable_seqscan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pc, err := parseURL(pooler(t, c.refuse, c.session))
			if err != nil {
				t.Fatal(err)
			}
			pc.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
			err = checkSessions(context.Background(), pc.ConnConfig)
			if c.says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !errors.Is(err, ErrPooler) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, want %q", err, c.says)
			}
		})
	}
	url := pooler(t, "", func(int, int) int { return 7 })
	if err := Migrate(t.Context(), url); !errors.Is(err, ErrPooler) {
		t.Errorf("Migrate: %v", err)
	}
	if _, err := Open(t.Context(), Config{URL: url}); !errors.Is(err, ErrPooler) {
		t.Errorf("Open: %v", err)
	}
}
