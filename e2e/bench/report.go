package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// result is one comparison. Units that end in "/s" are better when larger, "ms" when smaller.
type result struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"`
	Ours      float64 `json:"ours"`
	Floor     float64 `json:"floor"`
	FloorName string  `json:"floor_name"`
	Ratio     float64 `json:"ratio"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Note      string  `json:"note"`
}

// compare makes the result of pairs.
func compare(name, unit, floorName string, p *pairs, note string) result {
	s := p.summary()
	return result{name, unit, s.ours, s.floor, floorName, s.ratio, s.low, s.high, fmt.Sprintf("%d pairs; %s", len(p.ours), note)}
}

// lines writes one JSON object a result, with figures of four digits.
func lines(w io.Writer, rs []result) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range rs {
		for _, f := range []*float64{&r.Ours, &r.Floor, &r.Ratio, &r.Low, &r.High} {
			*f = fourDigits(*f)
		}
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write %s: %w", r.Name, err)
		}
	}
	return nil
}

// fourDigits rounds; what is no number is 0, which JSON has a way to write.
func fourDigits(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 4, 64), 64)
	return r
}

// table writes the results for people, the notes below.
func table(w io.Writer, rs []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tours\tfloor or rival\t\tratio\t95 %")
	for _, r := range rs {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%.2f\t%.2f to %.2f\n",
			r.Name, figure(r.Ours), r.Unit, figure(r.Floor), r.FloorName, r.Ratio, r.Low, r.High)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range rs {
		if _, err := fmt.Fprintf(w, "\n%s: %s\n", r.Name, r.Note); err != nil {
			return err
		}
	}
	return nil
}

// figure writes a number with as many digits as say something, and thousands apart.
func figure(f float64) string {
	switch {
	case math.IsNaN(f):
		return "-"
	case f < 10:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f < 100:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(fourDigits(f), 'f', 0, 64)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
