package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sqlLog reads how long statements took from the server's own log: those of the program too, which cannot be timed from
// outside.
type sqlLog struct {
	name string
	at   int64
}

// logStatements has the sessions that are opened from now on log each statement with its time, and have further settings.
// That costs the log's line, of both sides of a pair.
func (b *bench) logStatements(ctx context.Context, further ...string) (*sqlLog, error) {
	db := pgx.Identifier{b.db.Config().ConnConfig.Database}.Sanitize()
	for _, set := range append([]string{"log_min_duration_statement = 0", "log_parameter_max_length = 0"}, further...) {
		if _, err := b.db.Exec(ctx, "ALTER DATABASE "+db+" SET "+set); err != nil {
			return nil, err
		}
	}
	b.db.Reset()
	l := &sqlLog{name: filepath.Join(b.dir, "pg", "postgres.log")}
	_, err := l.read()
	return l, err
}

// logNothing ends logStatements, for the sessions that are opened from now on.
func (b *bench) logNothing(ctx context.Context) error {
	_, err := b.db.Exec(ctx, "ALTER DATABASE "+pgx.Identifier{b.db.Config().ConnConfig.Database}.Sanitize()+" RESET ALL")
	b.db.Reset()
	return err
}

// statement is one that ran: its first words, and the milliseconds of its parsing, planning and running.
type statement struct {
	words string
	ms    float64
}

// read returns the statements logged since the last call.
func (l *sqlLog) read() ([]statement, error) {
	text, err := l.text()
	return statements(text), err
}

// text is what was logged since the last call.
func (l *sqlLog) text() (string, error) {
	f, err := os.Open(l.name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := f.Seek(l.at, io.SeekStart); err != nil {
		return "", err
	}
	raw, err := io.ReadAll(f)
	l.at += int64(len(raw))
	return string(raw), err
}

// logEntries takes a log apart: an entry goes on where a line begins with a tab.
func logEntries(log string) []string {
	return strings.Split(strings.ReplaceAll(log, "\n\t", "\t"), "\n")
}

var duration = regexp.MustCompile(`LOG:  duration: ([0-9.]+) ms(?:  (?:parse|bind|execute|statement) ?[^:]*: )?([\s\S]*)`)

// statements are those of a log. The times of a statement's parts are added up.
func statements(log string) []statement {
	var all []statement
	for _, entry := range logEntries(log) {
		m := duration.FindStringSubmatch(entry)
		if m == nil {
			continue
		}
		ms, _ := strconv.ParseFloat(m[1], 64)
		words := strings.Fields(m[2])
		s := statement{strings.Join(words[:min(3, len(words))], " "), ms}
		part := strings.Contains(entry, " ms  execute ") || strings.Contains(entry, " ms  bind ")
		if last := len(all) - 1; part && last >= 0 && all[last].words == s.words {
			all[last].ms += ms
			continue
		}
		all = append(all, s)
	}
	return all
}

// took sums the milliseconds of the statements that begin with these words.
func took(ss []statement, words string) (ms float64, err error) {
	found := false
	for _, s := range ss {
		if strings.HasPrefix(s.words, words) {
			ms, found = ms+s.ms, true
		}
	}
	if !found {
		return 0, fmt.Errorf("no %q in the server's log", words)
	}
	return ms, nil
}
