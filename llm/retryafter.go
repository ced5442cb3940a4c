package llm

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest time that is believed. Whoever must wait longer than that will not wait.
const maxWait = 31 * 24 * time.Hour

// retryAfter reads how long the provider wants to be left alone from its headers, 0 if they do not say. Limited is true
// if the request was refused for its rate: then it also matters when the rate limits of the headers start anew.
//
// Retry-After is seconds or a date (RFC 9110, section 10.2.3). A date is taken relative to the Date of the same answer:
// the local clock may be wrong.
func retryAfter(h http.Header, limited bool) time.Duration {
	if ms := waitSeconds(h.Get("Retry-After-Ms")); ms > 0 {
		return ms / 1000
	}
	value := h.Get("Retry-After")
	if d := waitSeconds(value); d > 0 {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return waitUntil(h, at)
	}
	if limited {
		return rateReset(h)
	}
	return 0
}

// waitUntil is the time from the Date of the answer to t, 0 if there is no date or t is past.
func waitUntil(h http.Header, t time.Time) time.Duration {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return credibleWait(t.Sub(date))
}

// rateReset is when the rate limits that are used up start anew. If none is told to be used up it is the first of all:
// waiting too short costs one more request, waiting too long costs the wait.
func rateReset(h http.Header) time.Duration {
	var spent, first time.Duration
	for name := range h {
		lower := strings.ToLower(name)
		var remaining string
		switch {
		case strings.HasPrefix(lower, "x-ratelimit-reset"):
			remaining = strings.Replace(lower, "reset", "remaining", 1)
		case strings.HasPrefix(lower, "anthropic-ratelimit-") && strings.HasSuffix(lower, "-reset"):
			remaining = strings.TrimSuffix(lower, "reset") + "remaining"
		default:
			continue
		}
		value := h.Get(name)
		d := waitDuration(value)
		if d == 0 {
			d = waitSeconds(value)
		}
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			d = waitUntil(h, at)
		}
		if d == 0 {
			continue
		}
		if h.Get(remaining) == "0" {
			spent = max(spent, d)
		}
		if first == 0 || d < first {
			first = d
		}
	}
	if spent > 0 {
		return spent
	}
	return first
}

// waitSeconds reads a number of seconds, 0 if it is none that can be believed: a point in time, say.
func waitSeconds(s string) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > maxWait.Seconds() {
		return 0
	}
	return credibleWait(time.Duration(f * float64(time.Second)))
}

// waitDuration reads a time like 1m30.5s, 0 if it is none.
func waitDuration(s string) time.Duration {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		return 0
	}
	return credibleWait(d)
}

func credibleWait(d time.Duration) time.Duration {
	if d < 0 || d > maxWait {
		return 0
	}
	return d
}

var (
	waitCompact = regexp.MustCompile(`(?:again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)
	waitWords   = regexp.MustCompile(`(?:again|retry|wait) (?:in |after |for )?(\d+(?:\.\d+)?) (second|minute|hour)`)
)

// waitIn reads how long to wait from a folded text, 0 if it does not say.
func waitIn(text string) time.Duration {
	if m := waitCompact.FindStringSubmatch(text); m != nil {
		return waitDuration(m[1])
	}
	if m := waitWords.FindStringSubmatch(text); m != nil {
		return waitDuration(m[1] + m[2][:1])
	}
	return 0
}
