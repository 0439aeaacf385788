package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what a stretch of work took: bytes of the write-ahead log, exactly, and processor time, where the system tells it.
type cost struct {
	units                    int
	wal                      int64
	program, postgres, bench time.Duration
}

// during adds what f costs for units pieces of work.
func (b *bench) during(ctx context.Context, c *cost, units int, f func() error) error {
	before, err := b.spent(ctx)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	after, err := b.spent(ctx)
	if err != nil {
		return err
	}
	c.units += units
	c.wal += after.wal - before.wal
	c.program += after.program - before.program
	c.postgres += after.postgres - before.postgres
	c.bench += after.bench - before.bench
	return nil
}

// String is for a note: of each unit.
func (c *cost) String() string {
	each := func(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3/float64(c.units)) }
	s := fmt.Sprintf("%.0f bytes of WAL each", float64(c.wal)/float64(c.units))
	if c.postgres > 0 {
		s += fmt.Sprintf(", CPU each: Postgres %s, program %s, this process %s", each(c.postgres), each(c.program), each(c.bench))
	}
	return s
}

func (b *bench) spent(ctx context.Context) (c cost, err error) {
	if err := b.db.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint`).Scan(&c.wal); err != nil {
		return c, err
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err == nil {
		c.bench = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, i := range b.running {
		c.program += processorTime(strconv.Itoa(i.cmd.Process.Pid), "", false)
	}
	pid, _, _ := strings.Cut(readFile(filepath.Join(b.dir, "pg", "data", "postmaster.pid")), "\n")
	c.postgres = processorTime(pid, "", true)
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		c.postgres += processorTime(filepath.Base(p), pid, false)
	}
	return c, nil
}

func readFile(name string) string {
	b, _ := os.ReadFile(name)
	return string(b)
}

// processorTime is what a process has used so far, with reaped also that of its ended children; 0 when it cannot be read
// or has another parent than the one asked for.
func processorTime(pid, parent string, reaped bool) time.Duration {
	stat := readFile("/proc/" + pid + "/stat")
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 || parent != "" && fields[1] != parent {
		return 0
	}
	to := 13
	if reaped {
		to = 15
	}
	var ticks int64
	for _, f := range fields[11:to] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100)
}
