package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/format/detect"
	"github.com/pemmican-dev/pemmican/llm"
	"github.com/pemmican-dev/pemmican/summary"
	"go.uber.org/goleak"
)

// writer is a summariser that looks like one with a model behind it: it takes its time, and fails as often as it is told.
type writer struct {
	mu       sync.Mutex
	calls    int
	failures int
	wait     time.Duration
	text     string
	gate     chan struct{} // if there is one, every call waits for it
}

func (w *writer) Summarize(ctx context.Context, _ pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	w.mu.Lock()
	w.calls++
	fails := w.failures > 0
	w.failures = max(0, w.failures-1)
	w.mu.Unlock()
	asked := &pemmican.Asking{Model: "m", Mode: "same", Requests: 1}
	if w.wait > 0 {
		select {
		case <-time.After(w.wait):
		case <-ctx.Done():
			return pemmican.SummaryText{Asked: asked}, ctx.Err()
		}
	}
	if w.gate != nil {
		select {
		case <-w.gate:
		case <-ctx.Done():
			return pemmican.SummaryText{Asked: asked}, ctx.Err()
		}
	}
	if fails {
		return pemmican.SummaryText{Asked: asked}, errors.New("the model called a tool")
	}
	text := w.text
	if text == "" {
		text = "The agent has read many files and found nothing yet."
	}
	return pemmican.SummaryText{Body: text, Kind: "m", Asked: asked}, nil
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// quarters counts four bytes as a token, so that sizes in tests are what they say.
type quarters struct{}

func (quarters) Count(b *pemmican.Block) int {
	return (len(b.Text) + len(b.Args) + len(b.Tool) + b.Bytes/1000 + 3) / 4
}

// task is a transcript with so many steps of about 1,000 tokens.
func task(steps int) *pemmican.Transcript {
	t := &pemmican.Transcript{HasSystem: true}
	t.AddSystem("You are an agent.")
	t.AddUser("Find the bug in the parser.")
	for i := range steps {
		step(t, i)
	}
	return t
}

// step appends four calls whose results are too short to be worth a cut.
func step(t *pemmican.Transcript, i int) {
	var calls []pemmican.Block
	for k := range 4 {
		calls = append(calls, pemmican.Call(fmt.Sprintf("call%d.%d", i, k), "read", fmt.Sprintf(`{"path":"f%d.%d.go"}`, i, k)))
	}
	t.AddAssistant("", calls...)
	for k := range 4 {
		t.AddResult(fmt.Sprintf("call%d.%d", i, k), result(i*4+k))
	}
}

func result(i int) string {
	var b strings.Builder
	for n := 0; b.Len() < 960; n++ {
		fmt.Fprintf(&b, "file %d, line %d: %x\n", i, n, i*7919+n*104729)
	}
	return b.String()
}

// sizeOf is a transcript in tokens.
func sizeOf(t *pemmican.Transcript) int { return Measure(t, quarters{}, pemmican.Overhead{}).Estimated }

// fitting session: a window of 100,000 tokens, and notices that are kept.
func fitter(c Config, change ...func(*Settings)) (*Session, *[]string) {
	var notices []string
	var mu sync.Mutex
	c.Notify = func(n string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, n)
	}
	if c.Counter == nil {
		c.Counter = quarters{}
	}
	s, _ := begin(c, change...)
	return s, &notices
}

func mustFit(t testing.TB, s *Session, tr *pemmican.Transcript) (*pemmican.Plan, *pemmican.Transcript) {
	t.Helper()
	plan, err := s.Fit(t.Context(), tr)
	if err != nil {
		t.Fatal(err)
	}
	return plan, plan.Result(tr)
}

func TestFit(t *testing.T) {
	s, notices := fitter(Config{Summarizer: &writer{}}, func(s *Settings) { s.Soft = Threshold{} })
	small := task(50)
	if plan, _ := mustFit(t, s, small); !plan.Empty() {
		t.Fatal("nothing was to be done")
	}
	big := task(80)
	before := keep(big)
	plan, out := mustFit(t, s, big)
	if plan.Empty() || sizeOf(out) > 50_000 || plan.Summary == "" {
		t.Fatalf("%d tokens", sizeOf(out))
	}
	if !reflect.DeepEqual(before, big) { // SUB-04
		t.Error("the caller's transcript was changed")
	}
	if len(*notices) != 1 || s.State().Compactions != 1 {
		t.Errorf("%v", *notices)
	}
	// Whoever goes on with the whole transcript gets the same plan on it, and no other compaction.
	step(big, 80)
	again, longer := mustFit(t, s, big)
	if s.State().Compactions != 1 || again.Summary != plan.Summary || !slices.Equal(again.Marks[:len(plan.Marks)], plan.Marks) || sizeOf(longer) != sizeOf(out)+1012 && sizeOf(longer) < sizeOf(out) {
		t.Errorf("%d compactions", s.State().Compactions)
	}
	// Whoever goes on with the result gets none.
	step(out, 80)
	if plan, _ := mustFit(t, s, out); !plan.Empty() {
		t.Error("it is compacted already")
	}
	if plan, _ := mustFit(t, s, &pemmican.Transcript{}); !plan.Empty() {
		t.Error("nothing at all")
	}
}

// TestFitFailure is R6, R7 and LOOP-14: a bad summary leaves the request as it is, with one notice; the next request is the next
// chance; and after three no model is asked.
func TestFitFailure(t *testing.T) {
	w := &writer{failures: 1}
	s, notices := fitter(Config{Summarizer: w}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(80)
	if plan, out := mustFit(t, s, tr); !plan.Empty() || !strings.Contains(out.Blocks[6].Text, "file 0, line 0") {
		t.Fatal("the request does not go as it is")
	}
	if len(*notices) != 1 || !strings.Contains((*notices)[0], "called a tool") {
		t.Fatalf("%v", *notices)
	}
	s.On(usage(80_000))
	step(tr, 80)
	if plan, _ := mustFit(t, s, tr); plan.Empty() || w.count() != 2 {
		t.Fatalf("%d calls", w.count())
	}

	w = &writer{failures: 99}
	s, _ = fitter(Config{Summarizer: w}, func(s *Settings) { s.Soft = Threshold{} })
	tr = task(76)
	for i := range 6 {
		step(tr, 100+i)
		plan, _ := mustFit(t, s, tr)
		if plan.Empty() != (i < 3) || w.count() != min(i+1, 3) {
			t.Fatalf("request %d: %d calls", i, w.count())
		}
	}
}

// TestFitBlocked is LOOP-20 and LOOP-04: what does not fit is compacted without a model if need be; and where what must stay is
// too large, one clear error says so, and no model is asked.
func TestFitBlocked(t *testing.T) {
	w := &writer{failures: 99}
	s, _ := fitter(Config{Summarizer: w})
	plan, out := mustFit(t, s, task(150))
	if plan.Empty() || sizeOf(out) > 50_000 || w.count() != 1 {
		t.Fatalf("%d tokens after %d calls", sizeOf(out), w.count())
	}

	w = &writer{}
	s, notices := fitter(Config{Summarizer: w})
	huge := &pemmican.Transcript{HasSystem: true}
	huge.AddSystem(strings.Repeat("rule ", 104_000))
	huge.AddUser("Hello.")
	for range 3 {
		_, err := s.Fit(t.Context(), huge)
		if !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "130") {
			t.Fatal(err)
		}
	}
	if w.count() != 0 {
		t.Errorf("%d calls", w.count())
	}
	failed := 0
	for _, n := range *notices {
		if strings.Contains(n, "failedText") {
			failed++
			if !strings.Contains(n, "system text and tools alone take") {
				t.Error(n)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d attempts", failed)
	}
}

// TestFitCancelled is R12: a cancelled request ends with its own error, without a notice or a strike.
func TestFitCancelled(t *testing.T) {
	w := &writer{gate: make(chan struct{})}
	s, notices := fitter(Config{Summarizer: w})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Fit(ctx, task(90))
		done <- err
	}()
	for w.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(*notices) != 0 || s.failures != 0 || s.Status().InFlight {
		t.Errorf("%v", *notices)
	}
	close(w.gate)
	mustFit(t, s, task(90))
}

// TestFitConcurrent is CON-07, CON-08 and CON-10: one summary, however many ask, and all of them get it.
func TestFitConcurrent(t *testing.T) {
	for range 5 {
		fitConcurrently(t)
	}
}

func fitConcurrently(t *testing.T) {
	t.Helper()
	w := &writer{gate: make(chan struct{})}
	s, _ := fitter(Config{Summarizer: w})
	var group sync.WaitGroup
	plans := make([]*pemmican.Plan, 8)
	for i := range plans {
		group.Go(func() {
			plan, err := s.Fit(t.Context(), task(90))
			if err != nil {
				t.Error(err)
			}
			plans[i] = plan
		})
	}
	for w.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(w.gate)
	group.Wait()
	for i, p := range plans {
		if p == nil || p.Empty() || p.Summary != plans[0].Summary {
			t.Errorf("request %d has another plan", i)
		}
	}
	if w.count() != 1 || s.State().Compactions != 1 {
		t.Errorf("%d calls, %d compactions", w.count(), s.State().Compactions)
	}
}

// TestBackground is USR-05, USR-10, CON-01 and HUGE-10: the summary is written while the agent goes on, and what the person and
// the tools say meanwhile is there afterwards, word for word.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{wait: 40 * time.Second}
		s, notices := fitter(Config{Summarizer: w})
		tr := task(63)
		began := time.Now()
		if plan, _ := mustFit(t, s, tr); !plan.Empty() || time.Since(began) > 0 {
			t.Fatal("the agent has to wait")
		}
		synctest.Wait()
		if w.count() != 1 || !s.Status().InFlight {
			t.Fatal("it does not run")
		}
		tr.AddUser("And mind the tests!")
		step(tr, 63)
		tr.AddUser("Also this.")
		if plan, _ := mustFit(t, s, tr); !plan.Empty() {
			t.Fatal("it cannot be there yet")
		}
		time.Sleep(41 * time.Second)
		plan, out := mustFit(t, s, tr)
		if plan.Empty() || w.count() != 1 || s.State().Compactions != 1 || s.Status().InFlight {
			t.Fatalf("%d calls, %v", w.count(), *notices)
		}
		var tail []string
		for _, b := range out.Blocks[len(out.Blocks)-10:] {
			tail = append(tail, b.Text)
		}
		if want := []string{
			"And mind the tests!", "", "", "", "", result(252), result(253), result(254), result(255), "Also this.",
		}; !slices.Equal(tail, want) {
			t.Errorf("%q", tail)
		}
		s.Close()
	})
}

// TestBackgroundNeeded: where the hard threshold comes first, the request waits for what is being written, and asks for no other.
func TestBackgroundNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{wait: 40 * time.Second}
		s, _ := fitter(Config{Summarizer: w})
		tr := task(63)
		mustFit(t, s, tr)
		for i := range 20 {
			step(tr, 63+i)
		}
		began := time.Now()
		if plan, _ := mustFit(t, s, tr); plan.Empty() || w.count() != 1 {
			t.Fatalf("%d calls", w.count())
		}
		if d := time.Since(began); d != 40*time.Second {
			t.Errorf("it took %s", d)
		}
		s.Close()
	})
}

// TestBackgroundStale is CON-05: a summary of what is no more changes nothing.
func TestBackgroundStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{wait: 40 * time.Second}
		s, notices := fitter(Config{Summarizer: w})
		mustFit(t, s, task(63))
		time.Sleep(time.Minute)
		other := task(62)
		other.AddUser("Something else.")
		if plan, _ := mustFit(t, s, other); !plan.Empty() || s.State().Compactions != 0 || s.Status().InFlight {
			t.Fatal("it was applied to another conversation")
		}
		if len(*notices) != 1 || !strings.Contains((*notices)[0], ErrStale.Error()) {
			t.Errorf("%v", *notices)
		}
		s.Close()
	})
}

// TestMaxWait: a summary that does not come is given up, and the request that needs none goes; at the next one no model is asked
// after three.
func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{wait: time.Hour}
		s, notices := fitter(Config{Summarizer: w}, func(s *Settings) { s.MaxWait = Duration(time.Minute) })
		began := time.Now()
		if plan, _ := mustFit(t, s, task(80)); !plan.Empty() {
			t.Fatal("there is no summary")
		}
		if d := time.Since(began); d != time.Minute || !strings.Contains((*notices)[0], "1m0s") {
			t.Errorf("%s, %v", d, *notices)
		}
		if plan, _ := mustFit(t, s, task(150)); plan.Empty() { // it does not fit: another minute, and then no model
			t.Error("it was not compacted")
		}
		if d := time.Since(began); d != 2*time.Minute {
			t.Errorf("%s", d)
		}
	})
}

// TestClose: whatever runs in the background ends with the session, and nothing is delivered.
func TestClose(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := &writer{gate: make(chan struct{})}
	s, notices := fitter(Config{Summarizer: w})
	mustFit(t, s, task(63))
	for w.count() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	if len(*notices) > 0 || s.State().Compactions != 0 {
		t.Errorf("%v", *notices)
	}
	if plan, _ := mustFit(t, s, task(150)); !plan.Empty() {
		t.Error("the session is over")
	}
	s.Close()
}

// TestFitOverflow is LOOP-05: where the provider always says overflow, there are two compactions and then a reason.
func TestFitOverflow(t *testing.T) {
	s, _ := fitter(Config{})
	tr := task(40)
	compactions := 0
	for range 10 {
		_, out := mustFit(t, s, tr)
		a := s.On(Failed{Err: overflow(0)})
		if a.Do == Refuse {
			if compactions != 2 || !strings.Contains(a.Reason, "after 2 compactions") {
				t.Fatalf("after %d: %s", compactions, a.Reason)
			}
			return
		}
		want(t, a, Compact, "overflow")
		compactions++
		if _, smaller := mustFit(t, s, tr); sizeOf(smaller) >= sizeOf(out) {
			t.Fatalf("attempt %d: %d tokens, and before %d", compactions, sizeOf(smaller), sizeOf(out))
		}
	}
	t.Fatal("it never ends")
}

// TestFitTool: what the tool was granted is made at the next request, with its focus, by the model that is meant.
func TestFitTool(t *testing.T) {
	var got Answer
	w := &writer{}
	s, _ := fitter(Config{Summarize: func(a Answer) pemmican.Summarizer {
		got = a
		return w
	}})
	tr := task(50)
	mustFit(t, s, tr)
	s.On(usage(sizeOf(tr)))
	want(t, s.On(ToolAsked{Instructions: "the parser", Load: Load{Reported: sizeOf(tr)}}), Launch, "tool")
	if plan, _ := mustFit(t, s, tr); plan.Empty() && got.Focus == "" {
		t.Errorf("%+v", got)
	}
	if got.Focus != "the parser" || got.Occasion != "tool" || s.Status().InFlight {
		t.Errorf("%+v", got)
	}
}

// body is a request of OpenAI's Chat Completions.
func body(steps int, more ...map[string]any) []byte {
	messages := []map[string]any{{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Find the bug <here> in the parser."}}
	for i := range 4 * steps {
		id := fmt.Sprint("call", i)
		messages = append(
			messages,
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": fmt.Sprintf(`{"path":"f%d.go"}`, i)}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": result(i)},
		)
	}
	data, err := json.Marshal(map[string]any{"model": "m", "x_unknown": 1.50, "messages": append(messages, more...)})
	if err != nil {
		panic(err)
	}
	return data
}

func TestFitBody(t *testing.T) {
	s, _ := fitter(Config{})
	small := body(20)
	out, err := s.FitBody(t.Context(), small)
	if err != nil || !bytes.Equal(out, small) {
		t.Fatalf("nothing was to be done: %v", err)
	}
	out, err = s.FitBody(t.Context(), body(80))
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 250_000 || !bytes.Contains(out, []byte(`"x_unknown":1.5`)) {
		t.Fatalf("%d bytes", len(out))
	}
	valid(t, out)
	// An agent that goes on with its whole history sends the same bytes in front each time: the provider's cache holds them.
	next, err := s.FitBody(t.Context(), body(82))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, next)
	if cut := bytes.LastIndexByte(out, ']'); !bytes.HasPrefix(next, out[:cut]) {
		t.Error("the beginning has changed")
	}
	if s.State().Compactions != 1 {
		t.Error(s.State().Compactions)
	}
	if _, err := s.FitBody(t.Context(), []byte(`{"hello":1}`)); err == nil {
		t.Error("that is no request")
	}
}

func valid(t testing.TB, body []byte) {
	t.Helper()
	doc, err := detect.Decode(body, "")
	if err != nil {
		t.Fatal(err)
	}
	if findings := doc.Check(); len(findings) > 0 {
		t.Fatalf("%+v", findings)
	}
}

// TestReplied: what the provider has counted for a request counts for the next one, with the estimate of what followed; and
// nothing of it after a compaction.
func TestReplied(t *testing.T) {
	s, _ := fitter(Config{Counter: nil}, func(s *Settings) { s.Soft = Threshold{} })
	if _, err := s.FitBody(t.Context(), body(60)); err != nil {
		t.Fatal(err)
	}
	s.On(Replied{Usage: llm.Usage{Reported: true, Input: 68_000, Output: 500}})
	out, err := s.FitBody(t.Context(), body(61))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Status().Tokens; got < 68_500 || got > 71_000 || !bytes.Equal(out, body(61)) {
		t.Fatalf("%d tokens", got)
	}
	out, err = s.FitBody(t.Context(), body(68)) // an estimate of all would be far below the line
	if err != nil || bytes.Equal(out, body(68)) {
		t.Fatalf("it was not compacted: %v", err)
	}
	if got := s.Status().Tokens; got > 55_000 {
		t.Errorf("%d tokens after it", got)
	}
}

// TestCounted: a compaction comes down to its target as the provider counts.
func TestCounted(t *testing.T) {
	s, _ := fitter(Config{}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(55)
	mustFit(t, s, tr)
	s.On(usage(sizeOf(tr) * 3 / 2))
	step(tr, 55)
	plan, out := mustFit(t, s, tr)
	if n := sizeOf(out) * 3 / 2; plan.Empty() || n > 50_500 || n < 25_000 {
		t.Errorf("%d tokens", n)
	}
}

// TestUnchanged is LOOP-13: where there is nothing to do, that ends it until the context has grown.
func TestUnchanged(t *testing.T) {
	w := &writer{}
	s, notices := fitter(Config{Summarizer: w}, func(s *Settings) { s.Soft, s.Target = Threshold{}, "window" })
	tr := task(76)
	for i := range 4 {
		step(tr, 100+i)
		if plan, _ := mustFit(t, s, tr); !plan.Empty() {
			t.Fatal("it is under its target")
		}
	}
	if len(*notices) != 1 || w.count() != 0 {
		t.Errorf("%v", *notices)
	}
}

// TestAnswerIsReported: the answer is in what was reported, and is not counted again.
func TestAnswerIsReported(t *testing.T) {
	s, _ := fitter(Config{}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(30)
	mustFit(t, s, tr)
	sent := sizeOf(tr)
	s.On(Replied{Usage: llm.Usage{Reported: true, Input: sent, Output: 9_000}})
	tr.AddAssistant(strings.Repeat("word ", 7_200), pemmican.Call("x", "read", `{}`))
	tr.AddResult("x", strings.Repeat("word ", 800))
	mustFit(t, s, tr)
	if n := s.Status().Tokens; n != sent+10_000 {
		t.Errorf("%d tokens", n)
	}
}

// slowCounter counts a block with the text "wait" only when it is let.
type slowCounter struct {
	quarters
	reached chan struct{}
	let     chan struct{}
}

func (c slowCounter) Count(b *pemmican.Block) int {
	if b.Text == "wait" {
		select {
		case c.reached <- struct{}{}:
		default:
		}
		<-c.let
	}
	return c.quarters.Count(b)
}

// TestMeasuredBefore is CON-08: a request that was measured before another one was compacted is measured again.
func TestMeasuredBefore(t *testing.T) {
	c := slowCounter{reached: make(chan struct{}, 1), let: make(chan struct{})}
	w := &writer{}
	s, _ := fitter(Config{Counter: c, Summarizer: w})
	late := task(90)
	late.AddUser("wait")
	done := make(chan *pemmican.Plan)
	go func() {
		plan, err := s.Fit(t.Context(), late)
		if err != nil {
			t.Error(err)
		}
		done <- plan
	}()
	<-c.reached
	plan, _ := mustFit(t, s, task(90))
	close(c.let)
	if other := <-done; other.Summary != plan.Summary || plan.Summary == "" || w.count() != 1 {
		t.Errorf("%d calls", w.count())
	}
}

// TestOverhead: a transcript without the system text learns from the answers what else a request carries.
func TestOverhead(t *testing.T) {
	s, _ := fitter(Config{}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(40)
	tr.HasSystem = false
	mustFit(t, s, tr)
	s.On(usage(sizeOf(tr) + 30_000))
	if _, ok := s.State().Ratios["p/m"]; ok {
		t.Error("it was taken for a ratio")
	}
	other := task(46) // another conversation, of which nothing was reported
	other.HasSystem = false
	other.Blocks[1].Text = "Find the other bug."
	plan, out := mustFit(t, s, other)
	if plan.Empty() || sizeOf(out)+30_000 > 50_000 {
		t.Errorf("%d tokens, and 30,000 beside them", sizeOf(out))
	}
}

// TestOpenCalls is ORPH-16: calls whose results have not come stay, and get them.
func TestOpenCalls(t *testing.T) {
	s, _ := fitter(Config{})
	tr := task(80)
	tr.AddAssistant("", pemmican.Call("late1", "run", `{}`), pemmican.Call("late2", "run", `{}`))
	_, out := mustFit(t, s, tr)
	for _, now := range []*pemmican.Transcript{tr, out} {
		now.AddResult("late1", "one")
		now.AddResult("late2", "two")
		_, now = mustFit(t, s, now)
		answered := 0
		for i, partner := range now.Partners() {
			if now.Blocks[i].Kind == pemmican.ToolCall && partner >= 0 && strings.HasPrefix(now.Blocks[i].CallID, "late") {
				answered++
			}
		}
		if answered != 2 {
			t.Errorf("%d calls have their results", answered)
		}
	}
}

// TestQueued is USR-04: what the person has said and nobody has answered is not compacted away.
func TestQueued(t *testing.T) {
	s, _ := fitter(Config{})
	tr := task(90)
	for _, words := range []string{"first", "second", "third"} {
		tr.AddUser(words)
	}
	_, out := mustFit(t, s, tr)
	n := len(out.Blocks)
	if n > len(tr.Blocks)/2 || out.Blocks[n-3].Text != "first" || out.Blocks[n-2].Text != "second" || out.Blocks[n-1].Text != "third" {
		t.Errorf("%+v", out.Blocks[n-3:])
	}
}

// TestPictures is IMG-10: twelve pictures that are too many bytes and few tokens.
func TestPictures(t *testing.T) {
	picture := strings.Repeat("A", 400_000)
	var more []map[string]any
	for i := range 12 {
		more = append(more, map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": fmt.Sprint("picture ", i)},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + picture}},
		}}, map[string]any{"role": "assistant", "content": fmt.Sprint("I see ", i)})
	}
	more = append(more, map[string]any{"role": "user", "content": "And now?"})
	s, notices := fitter(Config{Counter: nil, Model: Model{Provider: "p", ID: "m", Window: 200_000}}, func(s *Settings) { s.Limits.Bytes = 3_200_000 })
	in := body(2, more...)
	out, err := s.FitBody(t.Context(), in)
	if err != nil {
		t.Fatal(err, *notices)
	}
	if len(out) > 3_200_000 || len(out) >= len(in) {
		t.Errorf("%d bytes of %d", len(out), len(in))
	}
	if !bytes.Contains(out, []byte("And now?")) || !bytes.Contains(out, []byte("base64")) {
		t.Error("too much is gone")
	}
	valid(t, out)
}

// provider is one with a window, which counts as it likes, and refuses what does not fit.
type provider struct {
	window int
	ratio  float64
	served int
	most   int
}

func (p *provider) send(t *pemmican.Transcript) (llm.Usage, error) {
	n := int(float64(sizeOf(t)) * p.ratio)
	if n > p.window {
		return llm.Usage{}, &llm.Error{Kind: llm.Overflow, Status: 400, Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", n, p.window), Limit: p.window, Requested: n}
	}
	p.served++
	p.most = max(p.most, n)
	return llm.Usage{Reported: true, Input: n, Output: 20}, nil
}

// TestAgent: an agent makes 200 calls in a window of 32k; estimates are wrong by a fifth, and usage is reported or not. It comes
// to its end, whether it goes on with the whole of its history or with what was made of it.
func TestAgent(t *testing.T) {
	for _, c := range []struct {
		name          string
		ratio         float64
		reports       bool
		keepsAll      bool
		declared      int
		mostOverflows int
	}{
		{"exact", 1, true, false, 32_768, 0},
		{"the whole history", 1, true, true, 32_768, 0},
		{"estimates too low, usage reported", 1.2, true, false, 32_768, 0},
		{"estimates too low, no usage", 1.2, false, false, 32_768, 3},
		{"estimates too high", 0.8, true, true, 32_768, 0},
		{"MSW-08: the window is declared too large", 1, true, false, 128_000, 1},
		{"LOOP-22: nobody knows the window", 1, false, false, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &provider{window: 32_768, ratio: c.ratio}
			s, _ := fitter(Config{Model: Model{Provider: "p", ID: c.name, Window: c.declared}})
			tr := task(0)
			overflows := 0
			for i := 0; i < 200; {
				plan, out := mustFit(t, s, tr)
				u, err := p.send(out)
				if err != nil {
					overflows++
					if a := s.On(Failed{Err: err}); a.Do != Compact {
						t.Fatalf("call %d: %+v", i, a)
					}
					continue
				}
				if !c.reports {
					u = llm.Usage{}
				}
				s.On(Replied{Usage: u})
				if !c.keepsAll && !plan.Empty() {
					tr = out
				}
				step(tr, i)
				i++
			}
			if p.served != 200 || overflows > c.mostOverflows {
				t.Errorf("%d requests, %d overflows", p.served, overflows)
			}
			if n := s.State().Compactions; n < 5 || n > 40 {
				t.Errorf("%d compactions", n)
			}
			t.Logf("%d compactions, %d overflows, the largest request had %d tokens", s.State().Compactions, overflows, p.most)
		})
	}
}

// TestFallback: the reason why a summary is another one than was wished for goes into the outcome.
func TestFallback(t *testing.T) {
	s, notices := fitter(Config{Summarizer: summary.Fallback{First: &writer{failures: 9}, Then: summary.Mechanical{}}})
	mustFit(t, s, task(90))
	if len(*notices) != 1 || !strings.Contains((*notices)[0], "called a tool") || !strings.Contains((*notices)[0], "mechanical") {
		t.Errorf("%v", *notices)
	}
}

// TestCircle is REX-10: an agent that does the same again after each compaction is told of, once.
func TestCircle(t *testing.T) {
	run := func(name func(i int) string) int {
		s, notices := fitter(Config{}, func(s *Settings) { s.Soft = Threshold{} })
		tr := task(0)
		for i := 0; s.State().Compactions < 6; i++ {
			id := fmt.Sprint("todo", i)
			tr.AddAssistant("", pemmican.Call(id, "read", fmt.Sprintf(`{"path":%q}`, name(i))))
			tr.AddResult(id, result(i))
			_, tr = mustFit(t, s, tr)
		}
		told := 0
		for _, n := range *notices {
			if strings.Contains(n, "circle") {
				told++
			}
		}
		return told
	}
	if n := run(func(i int) string { return fmt.Sprint("f", i%20) }); n != 1 {
		t.Errorf("told %d times", n)
	}
	if n := run(func(i int) string { return fmt.Sprint("f", i) }); n != 0 {
		t.Errorf("told %d times of an agent that gets on", n)
	}
}

// TestBeforeTheNextRequest is T2: what the tools have answered to the crossing reply is in what the summariser gets.
func TestBeforeTheNextRequest(t *testing.T) {
	var got pemmican.SummaryRequest
	s, _ := fitter(Config{Summarize: func(Answer) pemmican.Summarizer {
		return summarizerFunc(func(r pemmican.SummaryRequest) { got = r })
	}}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(60)
	mustFit(t, s, tr)
	s.On(usage(99_000)) // the crossing reply, which calls tools
	step(tr, 60)
	if plan, _ := mustFit(t, s, tr); plan.Empty() {
		t.Fatal("it was not compacted")
	}
	if last := got.Transcript.Blocks[len(got.Transcript.Blocks)-1].Text; last != result(243) {
		t.Errorf("%q", last)
	}
}

type summarizerFunc func(r pemmican.SummaryRequest)

func (f summarizerFunc) Summarize(_ context.Context, r pemmican.SummaryRequest) (pemmican.SummaryText, error) {
	f(r)
	return pemmican.SummaryText{Body: "What happened.", Kind: "m"}, nil
}

// TestReasoning: with reasoning that is bound to what stands before it, a background summary may come too late for the
// running tool loop; then it is not applied, and nothing is lost. An applied plan stays in force for whoever sends the
// whole history, though what came after it reasons, too.
func TestReasoning(t *testing.T) {
	bound := func(tr *pemmican.Transcript, i int) {
		id := fmt.Sprint("bound", i)
		tr.Add(pemmican.Assistant, pemmican.Block{Kind: pemmican.Reasoning, Text: "I think.", Bound: true}, pemmican.Call(id, "read", `{}`))
		tr.AddResult(id, "well")
	}
	synctest.Test(t, func(t *testing.T) {
		w := &writer{wait: time.Second}
		s, notices := fitter(Config{Summarizer: w})
		tr := task(63)
		mustFit(t, s, tr)
		time.Sleep(2 * time.Second)
		bound(tr, 1)
		if plan, _ := mustFit(t, s, tr); !plan.Empty() || len(*notices) != 1 || !strings.Contains((*notices)[0], "bound to something") {
			t.Errorf("%v", *notices)
		}
		s.Close()
	})
	s, _ := fitter(Config{}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(80)
	plan, _ := mustFit(t, s, tr)
	bound(tr, 1)
	again, out := mustFit(t, s, tr)
	if plan.Empty() || again.Summary != plan.Summary || out.Blocks[len(out.Blocks)-3].Kind != pemmican.Reasoning || s.State().Compactions != 1 {
		t.Error("another plan, or none")
	}
}

// TestGuardOpen is R10 and X26: where the guard of this session lets no model be asked, the agent's own compaction goes on, and ours
// does without one, in the next process of the session too; a new session asks.
func TestGuardOpen(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
	}))
	defer server.Close()
	var s *Session
	s, _ = fitter(Config{Summarize: func(Answer) pemmican.Summarizer {
		return &summary.Model{Client: &llm.Client{BaseURL: server.URL, API: llm.Chat}, Name: "m", Mode: summary.ModeCross, Guard: s.Guard()}
	}}, func(s *Settings) { s.Soft = Threshold{} })
	tr := task(76)
	for i := range 3 {
		step(tr, 100+i)
		if plan, _ := mustFit(t, s, tr); !plan.Empty() {
			t.Fatal("there is no summary")
		}
	}
	if asked != 3 || !s.Guard().Open() {
		t.Fatalf("%d requests", asked)
	}
	if a := s.On(Began{Reason: "threshold", Load: Load{Reported: 90_000}}); a.Do != GoOn || a.Reason == "" {
		t.Errorf("%+v", a)
	}
	step(tr, 103)
	if plan, _ := mustFit(t, s, tr); plan.Empty() || asked != 3 {
		t.Errorf("%d requests", asked)
	}
	s.On(Resumed{})
	kept, err := json.Marshal(s.State())
	if err != nil || !s.Guard().Open() {
		t.Error("it is the same session, in whichever process: ", err)
	}
	var state State
	if err := json.Unmarshal(kept, &state); err != nil {
		t.Fatal(err)
	}
	if !New(Config{State: state}).Guard().Open() {
		t.Error("another process asks again")
	}
	if New(Config{}).Guard().Open() {
		t.Error("a new session does not ask")
	}
}

// A request that says how much it wants written is measured by that, and not by the reserve of the settings.
func TestFitBodyOutput(t *testing.T) {
	body := func(limit string) []byte {
		return []byte(`{"model":"m",` + limit + `"messages":[{"role":"user","content":"` + strings.Repeat("some words of it ", 5000) + `"}]}`)
	}
	for limit, want := range map[string]int{`"max_tokens":30000,`: 30_000, "": 0, `"max_completion_tokens":64,`: 64} {
		s, _ := fitter(Config{})
		if _, err := s.FitBody(t.Context(), body(limit)); err != nil {
			t.Fatal(err)
		}
		if s.load.Output != want {
			t.Errorf("%q: %d, want %d", limit, s.load.Output, want)
		}
	}
}

// TestFitHooks is HOOK-01 and HOOK-02 where Fit asks the hook: it adds to the focus, or says no twice, and no more.
func TestFitHooks(t *testing.T) {
	var focus string
	asked, after := 0, 0
	veto := "not now"
	s, notices := fitter(Config{
		Before: func(_ context.Context, a Answer, l Load) (string, string) {
			asked++
			if a.Attempt == 0 || l.Estimated == 0 {
				t.Errorf("%+v %+v", a, l)
			}
			return "the names", veto
		},
		After: func(_ context.Context, _ int, o Outcome, failed string) {
			after++
			if failed != "" || o.After == 0 || o.After >= o.Before {
				t.Errorf("%+v", o)
			}
		},
		Summarize: func(a Answer) pemmican.Summarizer {
			focus = a.Focus
			return &writer{}
		},
	}, func(s *Settings) { s.Soft, s.Hooks.Before = Threshold{}, []string{"hook"} })
	// It does not fit: two vetoes, and it goes ahead.
	if plan, _ := mustFit(t, s, task(130)); plan.Empty() || asked != 2 || after != 1 || len(*notices) != 3 {
		t.Fatalf("asked %d times, %v", asked, *notices)
	}
	veto = ""
	if plan, _ := mustFit(t, s, task(131)); plan.Empty() {
		t.Fatal("not compacted")
	}
	other := task(85)
	other.Blocks[1].Text = "Another task."
	if plan, _ := mustFit(t, s, other); plan.Empty() || focus != "the names" || after != 2 {
		t.Errorf("%q, %d", focus, after)
	}
}

// TestLeftAlone: an excluded model gets what its agent sends, and so does everybody where all is switched off.
func TestLeftAlone(t *testing.T) {
	s, _ := fitter(Config{}, func(s *Settings) { s.ExcludedModels = []string{"p/out"} })
	tr, other := task(90), task(90)
	other.Blocks[1].Text = "Find the other bug."
	if plan, _ := mustFit(t, s, tr); plan.Empty() {
		t.Fatal("not compacted")
	}
	s.On(Switched{To: Model{Provider: "p", ID: "out", Window: 100_000}})
	if plan, _ := mustFit(t, s, tr); plan.Empty() {
		t.Error("what was taken away is back")
	}
	if plan, _ := mustFit(t, s, other); !plan.Empty() {
		t.Error("the model is excluded")
	}
	s.On(Switched{To: Model{Provider: "p", ID: "m", Window: 100_000}})
	if plan, _ := mustFit(t, s, tr); plan.Empty() || s.State().Compactions != 1 {
		t.Error("it is the same plan again")
	}
	off := DefaultSettings()
	off.Enabled = false
	s.SetSettings(off)
	if plan, _ := mustFit(t, s, tr); plan.Empty() {
		t.Error("what was taken away is back")
	}
	if plan, _ := mustFit(t, s, other); !plan.Empty() {
		t.Error("it is switched off")
	}
}

// TestStillTooLarge is LOOP-19: a policy that does not promise its target leaves too much; that is an error, and no loop.
func TestStillTooLarge(t *testing.T) {
	s, _ := fitter(Config{Settings: presetSettings(t, "checkpoint"), Model: Model{Provider: "p", ID: "m", Window: 16_000}})
	for range 2 {
		if _, err := s.Fit(t.Context(), task(40)); !errors.Is(err, ErrBlocked) {
			t.Fatal(err)
		}
	}
	if n := s.State().Compactions; n != 1 {
		t.Errorf("%d compactions", n)
	}
}
