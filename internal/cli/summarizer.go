package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
)

// Summarizer is what a person says about who writes the summary.
type Summarizer struct {
	// Name is mechanical, none, or the provider and perhaps the model that is asked: openai/gpt-5-mini. "" is mechanical.
	Name string
	// Mode is auto, same or cross; "" is auto.
	Mode string
	// BaseURL is where the provider's API is, "" for the vendor's own.
	BaseURL string
	// KeyFile is the file that holds the key, "" for the one in the environment.
	KeyFile string
	// Focus is what the summary is to concentrate on.
	Focus string
	// MaxWait bounds how long the model may take, retries included.
	MaxWait time.Duration
	// Fallback writes the mechanical summary where the model's was refused or did not come.
	Fallback bool
	// Dry asks no model: the mechanical summary stands in for the model's.
	Dry bool
}

// maxFocus is how many characters of a focus a model gets to read.
const maxFocus = 4000

// DefaultMaxWait is how long a model may take to write a summary.
const DefaultMaxWait = 2 * time.Minute

// summarizers tells what can be given for a summarizer.
const summarizers = "mechanical, none, or a provider and a model such as anthropic/NAME, openai/NAME or openai-responses/NAME"

// asksModel reports whether a model is asked, and which flag makes no sense if none is.
func (s *Summarizer) asksModel() (yes bool, err error) {
	switch orDefault(s.Name, "mechanical") {
	case "mechanical", "none":
	default:
		return true, nil
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--mode", s.Mode != ""},
		{"--base-url", s.BaseURL != ""},
		{"--key-file", s.KeyFile != ""},
		{"--focus", s.Focus != ""},
		{"--max-wait", s.MaxWait != 0 && s.MaxWait != DefaultMaxWait},
		{"--fallback", s.Fallback},
	} {
		if f.set {
			return false, Unusable("", "name one with --summarizer PROVIDER/MODEL", "%s is for a summary by a model", f.name)
		}
	}
	return false, nil
}

// Asks reports whether a model will be asked.
func (s *Summarizer) Asks() bool {
	asks, err := s.asksModel()
	return asks && err == nil && !s.Dry
}

// open returns the summariser for the decoded input; nil for none. What a model that it asks has learned of windows is
// kept by the function that it returns.
func (s *Summarizer) open(in *Input, progress *Progress) (out pemmican.Summarizer, keep func(context.Context) error, err error) {
	keep = func(context.Context) error { return nil }
	asks, err := s.asksModel()
	switch {
	case err != nil:
		return nil, keep, err
	case !asks && s.Name == "none":
		return nil, keep, nil
	case !asks:
		return summary.Mechanical{}, keep, nil
	}
	provider, name, _ := strings.Cut(s.Name, "/")
	client := &llm.Client{API: llm.API(provider), BaseURL: s.BaseURL}
	switch client.API {
	case llm.Anthropic, llm.Chat, llm.Responses:
	default:
		return nil, keep, Unusable("", "use "+summarizers, "there is no summarizer %q", s.Name)
	}
	if s.BaseURL != "" && strings.TrimSpace(s.BaseURL) == "" {
		return nil, keep, Unusable("", "leave it out for the vendor's own, or give one such as http://127.0.0.1:8080/v1", "--base-url is blank")
	}
	if n := utf8.RuneCountInString(s.Focus); n > maxFocus {
		return nil, keep, Unusable("", "say it shorter", "--focus has %s characters, of %s at most", Count(n), Count(maxFocus))
	}
	switch summary.Mode(s.Mode) {
	case "", summary.ModeAuto, summary.ModeSame, summary.ModeCross:
	default:
		return nil, keep, Unusable("", "use auto, same or cross", "there is no mode %q", s.Mode)
	}
	if s.MaxWait <= 0 {
		return nil, keep, Unusable("", "give a time such as 90s", "--max-wait %s is no time to wait", s.MaxWait)
	}
	if s.KeyFile != "" {
		if client.Key, err = llm.KeyFromFile(s.KeyFile); err != nil {
			return nil, keep, Unusable("", "--key-file names a file with the key and nothing else", "%s", err)
		}
	} else {
		client.Key = llm.KeyFromEnv(client.API)
	}
	if err := client.Valid(); err != nil {
		return nil, keep, Unusable("", "", "%s", err)
	}
	catalogue, keep, err := OpenCatalogue()
	if err != nil {
		return nil, keep, err
	}
	vendor, _, _ := strings.Cut(provider, "-")
	progress.Step("compacting, and waiting for the model")
	m := &summary.Model{
		Client: client, Name: name, Provider: vendor, Mode: summary.Mode(s.Mode), Catalogue: catalogue, Focus: s.Focus, MaxWait: s.MaxWait,
		Progress: func(p llm.Progress) {
			progress.Step("the model writes: " + Plural(p.Runes, "character"))
		},
	}
	if api, ok := llm.Detect(in.text()); ok && api == client.API {
		m.Body = in.text()
	}
	switch {
	case s.Dry:
		return standIn{}, keep, nil
	case s.Fallback:
		return summary.Fallback{First: m, Then: summary.Mechanical{}}, keep, nil
	}
	return m, keep, nil
}

// standIn is the mechanical summary where a model is not asked because nothing is to be written.
type standIn struct{ summary.Mechanical }

func (s standIn) Summarize(ctx context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	out, err := s.Mechanical.Summarize(ctx, r)
	out.Notes = []string{"a dry run asks no model: the figures are those with the mechanical summary"}
	return out, err
}

// OpenCatalogue returns the catalogue of models with what the person says of some in their configuration folder, and what was
// learned of windows in their cache folder. Keep writes down what has been learned since.
func OpenCatalogue() (c *llm.Catalogue, keep func(context.Context) error, err error) {
	c = llm.DefaultCatalogue()
	if dir, err := os.UserConfigDir(); err == nil {
		path := filepath.Join(dir, "pemmican", "models.json")
		switch data, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case err != nil:
			return nil, nil, About(path, err)
		default:
			if err := c.Override(data); err != nil {
				return nil, nil, About(path, err)
			}
		}
	}
	dir, err := os.UserCacheDir()
	if err != nil { // without a place for it, nothing is learned for the next time
		return c, func(context.Context) error { return nil }, nil //nolint:nilerr // as said
	}
	path := filepath.Join(dir, "pemmican", "windows.json")
	if data, err := os.ReadFile(path); err == nil {
		_ = c.Relearn(data) // it is a cache of ours: one that cannot be read is made anew
	}
	before := c.Learned()
	return c, func(ctx context.Context) error {
		after := c.Learned()
		if bytes.Equal(before, after) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return About(path, err)
		}
		return About(path, create(ctx, path, after, 0o600, true, nil))
	}, nil
}
