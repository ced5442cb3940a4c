package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/quantity"
)

// Threshold is a line on the use of a window, as people write it: "75%", "150k", "window-16k". "min" and "max" bound it, so
// that one line fits a window of 32k and one of 1M: "75% min 20k max 400k". The line is reached at it and above, and, with a
// ">" before it, above it only. The zero value is no line, which nothing reaches; it is written "off".
type Threshold struct {
	At Amount
	// Min and Max bound At; the zero Amount is no bound. Where they contradict each other, Max holds.
	Min, Max Amount
	// Strict is true for a line that is reached only above it.
	Strict bool
}

// Amount is a number of tokens, by itself or as a part of a window. One of its fields is set; the zero value is none.
type Amount struct {
	// Tokens is the number itself.
	Tokens int
	// Percent is a share of the window, over 0 and at most 100.
	Percent float64
	// Free is the window without so many tokens, which is never taken for less than half of the window, so that a reserve
	// that was meant for a large one leaves a small one its use; "window" is the whole of it, Free -1.
	Free int
}

const off = "off"

var errThreshold = errors.New(`want a share of the window, a number of tokens, or the window without some, ` +
	`such as 75%, 150k or window-16k, each with "min" and "max" behind it if need be; "off" is no line`)

// ParseThreshold reads a threshold: [>] AMOUNT [min AMOUNT] [max AMOUNT]. An amount is 75%, 150k, 150_000, 1.5m, window,
// window-16k or window-10%. "off" and the empty text are no line.
func ParseThreshold(s string) (Threshold, error) {
	var t Threshold
	text, strict := strings.CutPrefix(strings.TrimSpace(s), ">")
	words := strings.Fields(text)
	if !strict && (len(words) == 0 || len(words) == 1 && words[0] == off) {
		return t, nil
	}
	t.Strict = strict
	if len(words)%2 == 0 {
		return Threshold{}, fmt.Errorf("threshold %q: %w", s, errThreshold)
	}
	slot := &t.At
	for i, w := range words {
		if i%2 == 1 {
			switch w {
			case "min":
				slot = &t.Min
			case "max":
				slot = &t.Max
			default:
				return Threshold{}, fmt.Errorf("threshold %q: %w", s, errThreshold)
			}
			if *slot != (Amount{}) {
				return Threshold{}, fmt.Errorf("threshold %q: there are two amounts behind %q; leave one", s, w)
			}
			continue
		}
		a, err := parseAmount(w)
		if err != nil {
			return Threshold{}, fmt.Errorf("threshold %q: %w", s, err)
		}
		*slot = a
	}
	return t, nil
}

func parseAmount(s string) (Amount, error) {
	if free, ok := strings.CutPrefix(s, "window"); ok {
		if free == "" {
			return Amount{Free: -1}, nil
		}
		if free, ok = strings.CutPrefix(free, "-"); !ok {
			return Amount{}, errThreshold
		}
		if p, ok := strings.CutSuffix(free, "%"); ok {
			r, err := quantity.Percent(p)
			if err != nil {
				return Amount{}, err
			}
			return percent(r.Sub(big.NewRat(100, 1), r))
		}
		n, err := quantity.Tokens(free)
		if err == nil && n == 0 {
			n = -1
		}
		return Amount{Free: n}, err
	}
	if p, ok := strings.CutSuffix(s, "%"); ok {
		r, err := quantity.Percent(p)
		if err != nil {
			return Amount{}, err
		}
		return percent(r)
	}
	n, err := quantity.Tokens(s)
	switch {
	case err != nil:
		return Amount{}, errThreshold
	case n == 0:
		return Amount{}, fmt.Errorf(`want more than 0 tokens, or %q for no line`, off)
	}
	return Amount{Tokens: n}, nil
}

func percent(r *big.Rat) (Amount, error) {
	p, _ := r.Float64()
	if p <= 0 {
		return Amount{}, quantity.ErrNoPart
	}
	return Amount{Percent: p}, nil
}

// String is the threshold as ParseThreshold reads it.
func (t Threshold) String() string {
	if t.At == (Amount{}) {
		return off
	}
	s := t.At.String()
	if t.Strict {
		s = "> " + s
	}
	if t.Min != (Amount{}) {
		s += " min " + t.Min.String()
	}
	if t.Max != (Amount{}) {
		s += " max " + t.Max.String()
	}
	return s
}

// String is the amount as it is written in a threshold.
func (a Amount) String() string {
	switch {
	case a.Free < 0:
		return "window"
	case a.Free > 0:
		return "window-" + tokens(a.Free)
	case a.Percent != 0:
		return strconv.FormatFloat(a.Percent, 'f', -1, 64) + "%"
	}
	return tokens(a.Tokens)
}

// tokens is a number of tokens as people write it: 150k, 16384.
func tokens(n int) string {
	switch {
	case n > 0 && n%1_000_000 == 0:
		return strconv.Itoa(n/1_000_000) + "m"
	case n > 0 && n%1_000 == 0:
		return strconv.Itoa(n/1_000) + "k"
	}
	return strconv.Itoa(n)
}

// In is the line in tokens of a window: over 0, and at most the window. It is 0 for no line, and where there is no window.
func (t Threshold) In(window int) int {
	if t.At == (Amount{}) || window <= 0 {
		return 0
	}
	n := t.At.in(window)
	if t.Min != (Amount{}) {
		n = max(n, t.Min.in(window))
	}
	if t.Max != (Amount{}) {
		n = min(n, t.Max.in(window))
	}
	return min(max(n, 1), window)
}

// in is the amount in tokens of a window, rounded down.
func (a Amount) in(window int) int {
	switch {
	case a.Free < 0:
		return window
	case a.Free > 0:
		return window - min(a.Free, window/2)
	case a.Percent != 0:
		// By way of the decimal number that was written: 0.1 + 0.2 of binary fractions must not cost a token.
		r, ok := new(big.Rat).SetString(strconv.FormatFloat(a.Percent, 'f', -1, 64))
		if !ok {
			return window // not a number; Valid has refused it
		}
		r.Mul(r, big.NewRat(int64(window), 100))
		n := new(big.Int).Quo(r.Num(), r.Denom())
		if !n.IsInt64() {
			return window
		}
		return int(n.Int64())
	}
	return a.Tokens
}

// Reached reports whether so many tokens reach the line in a window. 0 is unknown, and reaches nothing.
func (t Threshold) Reached(tokens, window int) bool {
	line := t.In(window)
	switch {
	case line == 0 || tokens <= 0:
		return false
	case t.Strict:
		return tokens > line
	}
	return tokens >= line
}

// valid reports what is wrong with a threshold that was not parsed.
func (t Threshold) valid() error {
	for _, a := range []Amount{t.At, t.Min, t.Max} {
		set := 0
		for _, is := range []bool{a.Tokens != 0, a.Percent != 0, a.Free != 0} {
			if is {
				set++
			}
		}
		if set > 1 || a.Tokens < 0 || a.Free < -1 || a.Percent < 0 || a.Percent > 100 || math.IsNaN(a.Percent) {
			return errThreshold
		}
	}
	if t.At == (Amount{}) && t != (Threshold{}) {
		return errThreshold
	}
	return nil
}

// MarshalText returns String.
func (t Threshold) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseThreshold.
func (t *Threshold) UnmarshalText(text []byte) error {
	parsed, err := ParseThreshold(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}

// UnmarshalJSON reads a text, or a whole number of tokens.
func (t *Threshold) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		return t.UnmarshalText([]byte(s))
	}
	var n float64
	if err := json.Unmarshal(data, &n); err != nil || n != math.Trunc(n) || n < 1 || n > quantity.MostTokens {
		return fmt.Errorf("threshold %s: %w", data, errThreshold)
	}
	*t = Threshold{At: Amount{Tokens: int(n)}}
	return nil
}
