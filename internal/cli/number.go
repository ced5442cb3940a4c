package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/quantity"
)

// Tokens is a flag that takes a number of tokens.
type Tokens struct {
	N int
	// Given is true once the flag was given.
	Given bool
	// Zero says that zero is a number that makes sense.
	Zero bool
}

// Set reads the flag.
func (t *Tokens) Set(s string) error {
	n, err := quantity.Tokens(s)
	if err != nil {
		return err
	}
	if n == 0 && !t.Zero {
		return errors.New("it must be above 0")
	}
	t.N, t.Given = n, true
	return nil
}

// String is the default for the help.
func (t *Tokens) String() string {
	switch {
	case t.N == 0 && !t.Given:
		return ""
	case t.N%1000 == 0 && t.N > 0:
		return strconv.Itoa(t.N/1000) + "k"
	}
	return strconv.Itoa(t.N)
}

// Type names the argument in the help.
func (*Tokens) Type() string { return "tokens" }

// Number is a flag that takes a whole number.
type Number struct{ N, Least, Most int }

// Set reads the flag.
func (n *Number) Set(s string) error {
	v, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	if err != nil || v < n.Least || v > n.Most {
		return fmt.Errorf("want a whole number from %s to %s", Count(n.Least), Count(n.Most))
	}
	n.N = v
	return nil
}

// String is the default for the help.
func (n *Number) String() string { return strconv.Itoa(n.N) }

// Type names the argument in the help.
func (*Number) Type() string { return "N" }

// Target is a flag that takes what a compaction shall come down to: tokens of the whole request, or a percentage of the
// live tokens of the transcript as they are.
type Target struct {
	// Tokens is the target if Percent is nil; 0 is the default.
	Tokens int
	// Percent is a percentage over 0 and at most 100.
	Percent *big.Rat
}

// Set reads the flag.
func (t *Target) Set(s string) error {
	percent, ok := strings.CutSuffix(s, "%")
	if !ok {
		n, err := quantity.Tokens(s)
		switch {
		case err != nil:
			return errors.New("want tokens, such as 80k, or a percentage of the live tokens, such as 50%")
		case n == 0:
			return errors.New("nothing comes down to 0 tokens; give tokens above 0, or a percentage such as 50%")
		}
		t.Tokens, t.Percent = n, nil
		return nil
	}
	p, err := quantity.Percent(percent)
	switch {
	case errors.Is(err, quantity.ErrNoPart):
		return fmt.Errorf("%s%% is no part of the live tokens; give more than 0%% and at most 100%%", percent)
	case err != nil:
		return err
	}
	t.Tokens, t.Percent = 0, p
	return nil
}

// String is the default for the help.
func (t *Target) String() string {
	switch {
	case t.Percent != nil:
		return strings.TrimSuffix(strings.TrimRight(t.Percent.FloatString(3), "0"), ".") + "%"
	case t.Tokens > 0:
		return strconv.Itoa(t.Tokens)
	}
	return ""
}

// Type names the argument in the help.
func (*Target) Type() string { return "tokens|N%" }

// Of returns the target in tokens for a transcript that takes live tokens as it is; 0 is the default.
func (t *Target) Of(live int) int {
	if t.Percent == nil {
		return t.Tokens
	}
	n := new(big.Rat).Mul(t.Percent, big.NewRat(int64(live), 100))
	return max(1, int(new(big.Int).Quo(n.Num(), n.Denom()).Int64()))
}

// Count writes a number with commas between its thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Percent writes a part of a whole in percent; more than nothing is never 0 %.
func Percent(part, whole int) string {
	switch {
	case whole <= 0:
		return ""
	case part > 0 && part*200 < whole:
		return "<1 %"
	}
	return Count((part*200+whole)/(2*whole)) + " %"
}
