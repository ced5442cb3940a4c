package cli

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long work may take before it shows a progress bar.
const patience = time.Second

// Progress is a progress bar that shows itself when the work takes a while and standard error is a terminal. It is safe
// for concurrent use; a nil one shows nothing.
type Progress struct {
	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	timer *time.Timer
}

// NewProgress starts a bar for work of n steps; -1 for work whose length is unknown. Call Done when it is over.
func NewProgress(stderr io.Writer, n int, label string) *Progress {
	f, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return newProgress(stderr, n, label, patience)
}

func newProgress(w io.Writer, n int, label string, after time.Duration) *Progress {
	p := &Progress{}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(label),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(false),
		progressbar.OptionSetVisibility(false),
		progressbar.OptionSpinnerType(14),
	}
	if n > 0 {
		options = append(options, progressbar.OptionShowCount())
	}
	p.bar = progressbar.NewOptions(n, options...)
	p.timer = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.bar == nil {
			return
		}
		progressbar.OptionSetVisibility(true)(p.bar)
		_ = p.bar.RenderBlank()
	})
	return p
}

// Step says what is being done now.
func (p *Progress) Step(label string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Describe(label)
	}
}

// Add says that n more steps are done.
func (p *Progress) Add(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
}

// Done takes the bar away.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		return
	}
	if p.timer.Stop() {
		p.bar = nil // it was never shown
		return
	}
	_ = p.bar.Clear()
	_ = p.bar.Exit()
	p.bar = nil
}
