package jsonspan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// requestBody is like a long request to the Messages API: source code and command output in tool calls and results.
func requestBody(size int) []byte {
	source := strings.Repeat("func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n"+
		"\tif err := s.check(r); err != nil {\n\t\treturn fmt.Errorf(\"check %q: %w\", r.URL.Path, err)\n\t}\n"+
		"\tlog.Printf(\"served %s\", r.URL) // naïve, but enough\n\treturn nil\n}\n\n", 12)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteString(`{"model":"claude-sonnet-4","max_tokens":8192,"stream":true,"messages":[`)
	b.WriteString(`{"role":"user","content":"Fix the handler."}`)
	for i := 0; b.Len() < size; i++ {
		id := fmt.Sprintf("toolu_%020d", i)
		for _, m := range []any{
			map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "text", "text": "I look at the \"handle\" function next.\n\nIt may be the cause."},
				map[string]any{"type": "tool_use", "id": id, "name": "read_file",
					"input": map[string]any{"path": "/src/server/handle.go", "offset": i, "limit": 200}},
			}},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": id, "content": source, "is_error": false},
			}},
		} {
			b.WriteByte(',')
			if err := enc.Encode(m); err != nil {
				panic(err)
			}
			b.Truncate(b.Len() - 1)
		}
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

var documents = []struct {
	name string
	data []byte
}{
	{"request", requestBody(5 << 20)},
	{"longString", Quote(nil, strings.Repeat("a line of plain text without any escape at all, ", 100_000))},
	{"numbers", []byte("[" + strings.Repeat(`{"x": 1.5, "y": [-12, 34e5, null, true]}, `, 100_000) + "0]")},
}

func bench(b *testing.B, fn func(data []byte) bool) {
	for _, doc := range documents {
		b.Run(doc.name, func(b *testing.B) {
			b.SetBytes(int64(len(doc.data)))
			b.ReportAllocs()
			for b.Loop() {
				if !fn(doc.data) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkStdValid(b *testing.B) { bench(b, json.Valid) }

func BenchmarkScan(b *testing.B) {
	bench(b, func(data []byte) bool {
		_, err := Scan(data, 0)
		return err == nil
	})
}

func BenchmarkSkip(b *testing.B) {
	bench(b, func(data []byte) bool { return Skip(data, 0) == len(data) })
}

func benchRequest(b *testing.B, fn func(data []byte, doc Span)) {
	data := documents[0].data
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		fn(data, Span{0, len(data)})
	}
}

// BenchmarkWalk reads the type and the tool id of each content block.
func BenchmarkWalk(b *testing.B) {
	benchRequest(b, func(data []byte, doc Span) {
		n := 0
		messages, _ := Get(data, doc, "messages")
		for m := range Elements(data, messages) {
			content, _ := Get(data, m, "content")
			for block := range Elements(data, content) {
				if kind, ok := Get(data, block, "type"); ok && Equal(data, kind, "tool_use") {
					n++
				}
			}
		}
		if n == 0 {
			b.Fatal("no tool calls")
		}
	})
}

// BenchmarkIndexWalk is BenchmarkWalk with an index.
func BenchmarkIndexWalk(b *testing.B) {
	var x Index
	if _, err := x.Scan(documents[0].data, 0); err != nil {
		b.Fatal(err)
	}
	benchRequest(b, func(data []byte, doc Span) {
		n := 0
		messages, _ := x.Get(data, doc, "messages")
		for m := range x.Elements(data, messages) {
			content, _ := x.Get(data, m, "content")
			for block := range x.Elements(data, content) {
				if kind, ok := x.Get(data, block, "type"); ok && Equal(data, kind, "tool_use") {
					n++
				}
			}
		}
		if n == 0 {
			b.Fatal("no tool calls")
		}
	})
}

func BenchmarkStrings(b *testing.B) {
	benchRequest(b, func(data []byte, doc Span) {
		messages, _ := Get(data, doc, "messages")
		for m := range Elements(data, messages) {
			content, _ := Get(data, m, "content")
			for block := range Elements(data, content) {
				if text, ok := Get(data, block, "content"); ok {
					String(data, text)
				}
			}
		}
	})
}

func BenchmarkQuote(b *testing.B) {
	text := string(documents[0].data)
	var dst []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = Quote(dst[:0], text)
	}
}

func BenchmarkValues(b *testing.B) {
	line := append(requestBody(2000), '\n')
	data := bytes.Repeat(line, 2000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for it := range Values(data) {
			if it.Err != nil {
				b.Fatal(it.Err)
			}
		}
	}
}

func BenchmarkSplice(b *testing.B) {
	benchRequest(b, func(data []byte, doc Span) {
		messages, _ := Get(data, doc, "messages")
		edits := RemoveElements(data, messages, func(i int) bool { return i%3 == 1 })
		if _, err := Splice(data, edits); err != nil {
			b.Fatal(err)
		}
	})
}
