package modeltest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"
)

// event is one event of a stream.
type event struct {
	name string // "" for none
	data []byte
}

// appendTo writes the event in a framing.
func (e event) appendTo(b []byte, f Framing) []byte {
	end, colon := "\n", ": "
	if f&CRLF != 0 {
		end = "\r\n"
	}
	if f&Tight != 0 {
		colon = ":"
	}
	if e.name != "" {
		b = append(b, "event"+colon+e.name+end...)
	}
	b = append(b, "data"+colon...)
	b = append(b, escaped(e.data, f)...)
	return append(b, end+end...)
}

// escaped is JSON with all but ASCII as \u escapes, if the framing wants that.
func escaped(data []byte, f Framing) []byte {
	if f&Escaped == 0 {
		return data
	}
	var b []byte
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		data = data[n:]
	}
	return b
}

// body is an answer as it is written.
type body struct {
	data []byte
	// first is where the first event begins, and ends are where the events end.
	first int
	ends  []int
	// ending is where the events begin that end the answer.
	ending int
	stream bool
}

// layOut writes an answer, but for what goes wrong with it.
func layOut(d dialect, a *answer) *body {
	b := &body{stream: a.streaming && !a.failed() || a.OnlyDone}
	if !b.stream {
		b.data = bytes.Repeat([]byte{'\n'}, a.KeepAlives)
		b.first, b.ending = len(b.data), len(b.data)
		switch {
		case a.Body != nil:
			b.data, b.first, b.ending = a.Body, 0, 0
		case a.failed():
			b.data = append(b.data, escaped(encode(d.envelope(a.status(), a.Error)), a.Framing)...)
		default:
			b.data = append(b.data, escaped(encode(d.plain(a)), a.Framing)...)
		}
		b.ends = []int{len(b.data)}
		return b
	}
	end := "\n"
	if a.Framing&CRLF != 0 {
		end = "\r\n"
	}
	for range a.KeepAlives {
		b.data = append(b.data, ": keep-alive"+end+end...)
		if d.api() == Anthropic {
			b.data = ping.appendTo(b.data, a.Framing)
		}
	}
	b.first, b.ending = len(b.data), len(b.data)
	var events []event
	content := 0
	switch {
	case !a.OnlyDone:
		events, content = d.stream(a)
	case d.api() == Chat:
		events = []event{done}
	}
	for i, e := range events {
		b.data = e.appendTo(b.data, a.Framing)
		b.ends = append(b.ends, len(b.data))
		if i+1 == content {
			b.ending = len(b.data)
		}
	}
	return b
}

// at returns where a place is, and whether there is one. What lies outside is the nearest that is inside.
func (b *body) at(p Point) (int, bool) {
	switch p.kind {
	case beginning:
		return 0, true
	case ending:
		return b.ending, true
	case bytesIn:
		n := p.n
		if n < 0 {
			n += len(b.data)
		}
		return min(max(n, 0), len(b.data)), true
	case eventsIn:
		n := p.n
		if n < 0 {
			n += len(b.ends)
		}
		if n = min(n, len(b.ends)); n <= 0 {
			return b.first, true
		}
		return b.ends[n-1], true
	}
	return 0, false
}

// cuts are where a write ends, in order, the last one at the end.
func (b *body) cuts(f Framing) []int {
	cuts := append(slices.Clone(b.ends), b.first, len(b.data))
	for i := 0; i < len(b.data) && f&(Torn|OneByte) != 0; i++ {
		switch c := b.data[i]; {
		case f&OneByte != 0:
			cuts = append(cuts, i)
		case c == '\\':
			cuts = append(cuts, i+1)
			if i+1 < len(b.data) && b.data[i+1] == 'u' {
				cuts = append(cuts, i+3)
			}
			i++ // what is escaped begins no escape
		case !utf8.RuneStart(c):
			cuts = append(cuts, i)
		}
	}
	cuts = slices.DeleteFunc(cuts, func(i int) bool { return i <= 0 || i > len(b.data) })
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// status of HTTP.
func (a *answer) status() int {
	switch {
	case a.Status != 0:
		return a.Status
	case a.failed() && a.Body == nil && !a.OnlyDone:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// send writes an answer, with all that goes wrong with it. It does not return where the connection breaks.
func send(ctx context.Context, w http.ResponseWriter, d dialect, a *answer) {
	b := layOut(d, a)
	cuts := b.cuts(a.Framing)
	stall, stalls := b.at(a.StallAt)
	drop, drops := b.at(a.DropAt)
	end, ends := b.at(a.EndAt)
	fail, fails := b.at(a.ErrorAt)
	if !b.stream {
		fail = b.first // a plain answer is told or not
	}
	if !ends {
		end = len(b.data)
	}
	if fails {
		end = min(end, fail)
	}
	if drops {
		end = min(end, drop)
	}
	fails, drops = fails && end == fail, drops && end == drop
	stalls = stalls && stall <= end

	if stalls && a.StallAt.kind == beginning {
		a.stall(ctx)
		stalls = false
	}
	if drops && a.DropAt.kind == beginning {
		panic(http.ErrAbortHandler)
	}
	a.headers(w, d, b.stream)
	out := http.NewResponseController(w)
	flush := func() {
		if b.stream || stalls || drops || a.Framing&(Torn|OneByte) != 0 {
			_ = out.Flush() // a client that has gone is seen by its context
		}
	}
	if fails {
		tail := encode(d.envelope(a.Error.statusInside(), a.Error))
		if b.stream {
			n, _ := slices.BinarySearch(b.ends, end+1)
			tail = d.failure(a, n).appendTo(nil, a.Framing)
		}
		b.data = append(b.data[:end:end], tail...) // a Body is the caller's
		end = len(b.data)
	}
	cuts = slices.DeleteFunc(cuts, func(i int) bool { return i >= end })
	cuts = append(cuts, end)
	if stalls {
		cuts = append(cuts, stall)
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
	}
	flush()
	written := 0
	for _, cut := range cuts {
		if _, err := w.Write(b.data[written:cut]); err != nil {
			return
		}
		written = cut
		flush()
		if stalls && cut == stall {
			a.stall(ctx)
		}
	}
	if drops {
		panic(http.ErrAbortHandler)
	}
}

// stall waits where the script says so. If the request has ended then, nothing more is sent.
func (a *answer) stall(ctx context.Context) {
	if a.Stall != nil {
		a.Stall(ctx)
	} else {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// headers writes the status line and the headers.
func (a *answer) headers(w http.ResponseWriter, d dialect, stream bool) {
	h := w.Header()
	kind := "application/json"
	switch {
	case stream:
		kind = "text/event-stream; charset=utf-8"
		h.Set("Cache-Control", "no-cache")
	case a.Body != nil && a.ContentType != "":
		kind = a.ContentType
	}
	h.Set("Content-Type", kind)
	id := fmt.Sprintf("req_%d", a.id)
	if d.api() == Anthropic {
		h.Set("Request-Id", id)
	} else {
		h.Set("X-Request-ID", id)
	}
	for name, value := range a.Headers {
		h.Set(name, value)
	}
	w.WriteHeader(a.status())
}

// typeOf is the type of an error, by the status where the script does not say it.
func (e Error) typeOf(status int, types map[int]string, server string) string {
	switch known, ok := types[status]; {
	case e.Type != "":
		return e.Type
	case ok:
		return known
	case status >= 500:
		return server
	}
	return "invalid_request_error"
}

// statusInside is the status that an error would have outside of the answer that it stands in.
func (e Error) statusInside() int {
	if e.Code != "" {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// text is the message of an error, or what its status says.
func (e Error) text(status int) string {
	if e.Message != "" {
		return e.Message
	}
	if s := http.StatusText(status); s != "" {
		return s
	}
	return fmt.Sprintf("status %d", status)
}

// orNull is nil for "", as OpenAI writes what there is not.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
