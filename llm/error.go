package llm

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what went wrong, as far as it decides what to do about it.
type Kind string

// The kinds.
const (
	// Overflow: the input does not fit the window. A smaller input helps.
	Overflow Kind = "overflow"
	// OutputLimit: the input would fit, but not with so much output asked for. A lower output limit helps.
	OutputLimit Kind = "output-limit"
	// TooManyBytes: the request is too large in bytes, whatever its tokens. Less media helps.
	TooManyBytes Kind = "bytes"
	// Silent: no error was reported, but the window was full: input was cut away, or nothing came out.
	Silent Kind = "silent-overflow"
	// Throttle: too much in a short time. Waiting helps.
	Throttle Kind = "throttle"
	// Auth: the key is missing, wrong, or may not use this model.
	Auth Kind = "auth"
	// Quota: the account has no money, or no quota that waiting would renew soon.
	Quota Kind = "quota"
	// Filtered: the provider refused the content.
	Filtered Kind = "content-filter"
	// Transient: the provider or the network failed. Trying again helps.
	Transient Kind = "transient"
	// Invalid: the provider refused the request for another reason. Nothing helps but another request.
	Invalid Kind = "invalid"
)

// Error is a failed request, or a reply that hides a failure.
type Error struct {
	Kind Kind
	// Status is the HTTP status, 0 if no answer came.
	Status int
	// Code is the provider's code or type of the error, "" if it gave none.
	Code string
	// Message is the provider's own text, unwrapped, on one line and bounded. It never holds a key of ours.
	Message string
	// Limit and Requested are the sizes in tokens that the text names, 0 for none: what the model takes, and what this
	// request would have needed. Input is the part of Requested that is input, 0 if it is not told apart.
	Limit, Requested, Input int
	// RetryAfter is how long the provider wants to be left alone, 0 if it does not say.
	RetryAfter time.Duration
	// Requests is how many requests were sent, this one included; 0 if none was, or if it is not known.
	Requests int
	// Err is the cause, nil if the provider itself reported the error.
	Err error
}

// Error is one line: the kind, the status and the text.
func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	switch {
	case e.Message != "":
		s += ": " + e.Message
	case e.Err != nil:
		s += ": " + e.Err.Error()
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(" (it wants to be left alone for %s)", e.RetryAfter.Round(time.Second))
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of this package, "" for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
