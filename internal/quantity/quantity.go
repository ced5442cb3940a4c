// Package quantity reads numbers as people write them.
package quantity

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

var number = regexp.MustCompile(`^([0-9]+(?:_[0-9]+)*)(\.[0-9]+)?([kKmM]?)$`)

// MostTokens is far above every window.
const MostTokens = 1_000_000_000_000

// ErrTokens says what a number of tokens looks like.
var ErrTokens = errors.New("want a number of tokens, such as 80000, 80_000, 80k or 1.5m")

// The errors of Percent: what is no percentage, and what is one of no part.
var (
	ErrPercent = errors.New("want a percentage such as 50%")
	ErrNoPart  = errors.New("want more than 0% and at most 100%")
)

// Tokens reads a number of tokens as people write it: 80000, 80_000, 80k, 1.5m.
func Tokens(s string) (int, error) {
	m := number.FindStringSubmatch(s)
	if m == nil {
		return 0, ErrTokens
	}
	n, ok := plain(m)
	if !ok {
		return 0, ErrTokens
	}
	switch m[3] {
	case "k", "K":
		n.Mul(n, big.NewRat(1_000, 1))
	case "m", "M":
		n.Mul(n, big.NewRat(1_000_000, 1))
	}
	if !n.IsInt() || n.Num().CmpAbs(big.NewInt(MostTokens)) > 0 {
		return 0, ErrTokens
	}
	return int(n.Num().Int64()), nil
}

// Percent reads the number before a percent sign, which may have a fraction: a part of a whole, over 0 and at most 100.
func Percent(s string) (*big.Rat, error) {
	m := number.FindStringSubmatch(s)
	if m == nil || m[3] != "" {
		return nil, ErrPercent
	}
	p, ok := plain(m)
	if !ok {
		return nil, ErrPercent
	}
	if p.Sign() <= 0 || p.Cmp(big.NewRat(100, 1)) > 0 {
		return nil, ErrNoPart
	}
	return p, nil
}

// plain is a number without its unit.
func plain(m []string) (*big.Rat, bool) {
	return new(big.Rat).SetString(strings.ReplaceAll(m[1], "_", "") + m[2])
}
