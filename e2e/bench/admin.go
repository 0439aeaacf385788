package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// adminPassword is that of the staff of the benchmarks.
const adminPassword = "bench of the box office"

// adminPages measures the staff's overview and a show's page, of the largest line against the same pages of small ones.
func adminPages(ctx context.Context, b *bench) error {
	i, err := b.serve(ctx, "FANLINE_ADMIN_PASSWORD="+adminPassword)
	if err != nil {
		return err
	}
	s, err := b.logIn(ctx, i.url)
	if err != nil {
		return err
	}
	large := b.of(b.largest)
	for _, small := range []bigLine{b.of(40), b.of(1000)} {
		b.progress.step()
		page := func(l bigLine) func() (time.Duration, error) {
			return func() (time.Duration, error) { return s.page(ctx, "/admin/shows/"+l.show) }
		}
		if err := b.pagePairs(fmt.Sprintf("admin_show_%d", small.size), "the page of a show with a line of "+figure(float64(small.size)), page(large), page(small)); err != nil {
			return err
		}
	}
	overview := func(l bigLine) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			// The others are not shown then.
			if _, err := b.db.Exec(ctx, `UPDATE shows SET cancelled = show_no <> $1`, l.no); err != nil {
				return 0, err
			}
			return s.page(ctx, "/admin")
		}
	}
	b.progress.step()
	return b.pagePairs("admin_overview", "the overview with a show with a line of 40", overview(large), overview(b.of(40)))
}

// pagePairs times two pages by turns.
func (b *bench) pagePairs(name, floor string, ours, other func() (time.Duration, error)) error {
	const warm = 10
	n := b.times(300) + warm
	var p pairs
	for i := range n {
		b.progress.at(name, i, n)
		var ms [2]float64
		for k := range ms {
			which := (k + i) % 2
			took, err := []func() (time.Duration, error){ours, other}[which]()
			if err != nil {
				return err
			}
			ms[which] = millis(took)
		}
		if i >= warm {
			p.add(ms[0], ms[1])
		}
	}
	b.report(compare(name, "ms", floor, &p, fmt.Sprintf("line of %s; p99 %.1f ms, of the small line %.1f ms",
		figure(float64(b.largest)), quantile(p.ours, 0.99), quantile(p.floor, 0.99))))
	return nil
}

// staff is a browser that is logged in.
type staff struct {
	http *http.Client
	base string
}

func (b *bench) logIn(ctx context.Context, base string) (*staff, error) {
	jar, _ := cookiejar.New(nil) // never fails
	s := &staff{&http.Client{Jar: jar, Timeout: 30 * time.Second}, base}
	form := url.Values{"name": {"admin"}, "password": {adminPassword}, "next": {"/admin/audit"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/admin/login", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != "/admin/audit" {
		return nil, fmt.Errorf("the login led to %s with status %d", res.Request.URL.Path, res.StatusCode)
	}
	return s, nil
}

// page gets a page and says how long it took to its last byte.
func (s *staff) page(ctx context.Context, path string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	res, err := s.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != path {
		return 0, fmt.Errorf("%s led to %s with status %d", path, res.Request.URL.Path, res.StatusCode)
	}
	return took, nil
}
