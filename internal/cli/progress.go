package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// patience is how long work may take before it shows that it goes on.
	patience = time.Second
	// frame is how long one picture of it stands.
	frame = 100 * time.Millisecond
)

// Progress shows that work goes on, in one line of a terminal, once it takes a while. It moves by itself, whatever the work
// is at. It is safe for concurrent use; a nil one shows nothing.
type Progress struct {
	w   io.Writer
	n   int // steps of the work, 0 if unknown
	end chan struct{}

	mu    sync.Mutex
	label string
	steps int
	tick  int
	wide  int // cells of the line that is shown, 0 if none is
	done  bool
}

// NewProgress starts a display of work of n steps; -1 for work whose length is unknown. Call Done when it is over. It is
// nil where standard error is no terminal, or where the person wants none.
func NewProgress(stderr io.Writer, n int, label string) *Progress {
	f, ok := stderr.(*os.File)
	if !ok || Plain() || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	p := newProgress(stderr, n, label, patience)
	disk.Lock()
	disk.progress = p
	disk.Unlock()
	return p
}

func newProgress(w io.Writer, n int, label string, after time.Duration) *Progress {
	p := &Progress{w: w, n: max(n, 0), label: label, end: make(chan struct{})}
	go p.run(after)
	return p
}

func (p *Progress) run(after time.Duration) {
	wait := time.NewTimer(after)
	defer wait.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-wait.C:
			p.draw()
			wait.Reset(frame)
		}
	}
}

// draw shows the next picture over the last one.
func (p *Progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	line := string([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[p.tick%10]) + " " + p.label
	p.tick++
	if p.n > 0 {
		const wide = 30
		full := wide * min(p.steps, p.n) / p.n
		line += fmt.Sprintf(" %s%s %s of %s", strings.Repeat("█", full), strings.Repeat("░", wide-full), Count(p.steps), Count(p.n))
	}
	n := len([]rune(line))
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", max(p.wide-n, 0)))
	p.wide = n
}

// Step says what is being done now.
func (p *Progress) Step(label string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label = label
}

// Add says that n more steps are done.
func (p *Progress) Add(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps += n
}

// Done takes the line away.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.done = true
	close(p.end)
	if p.wide > 0 {
		_, _ = io.WriteString(p.w, "\r"+strings.Repeat(" ", p.wide)+"\r")
	}
}
