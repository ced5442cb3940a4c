package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// fuzzReply reads whatever comes, and streams of a good reply with that as its text, cut anywhere before the event that
// ends it.
func fuzzReply(f *testing.F, api API, stream func(quoted string) (before, end string)) {
	f.Add([]byte("Hello"), uint(40))
	f.Add([]byte(good(api)), uint(1000))
	f.Add([]byte(`{"error":{"message":"x"}}`), uint(0))
	f.Add([]byte("data: [DONE]"), uint(0))
	f.Fuzz(func(t *testing.T, data []byte, cut uint) {
		for _, in := range [][]byte{data, []byte(sse(string(data)))} {
			d := api.decoder()
			runes := 0
			err := read(d, bytes.NewReader(in), func(p Progress) {
				if p.Runes <= runes {
					t.Errorf("progress from %d to %d", runes, p.Runes)
				}
				runes = p.Runes
			})
			r := d.reply()
			if err == nil && r.Stop == StopEnd && !bytes.Contains(in, []byte("top")) && !bytes.Contains(in, []byte("end")) &&
				!bytes.Contains(in, []byte("completed")) && !bytes.ContainsAny(in, `\EeSs`) {
				t.Errorf("%q is no normal end", in)
			}
		}

		quoted, err := json.Marshal(string(data))
		if err != nil {
			t.Fatal(err)
		}
		before, end := stream(string(quoted))
		whole := before + end
		d := api.decoder()
		if err := read(d, strings.NewReader(whole), nil); err != nil || d.reply().Stop != StopEnd {
			t.Fatalf("%s: got %+v, %v", whole, d.reply(), err)
		}
		if want := strings.ToValidUTF8(string(data), "\uFFFD"); d.reply().Text != want {
			// encoding/json replaces each invalid byte, ToValidUTF8 each run of them.
			if strings.ToValidUTF8(string(data), "") == string(data) {
				t.Errorf("got the text %q, want %q", d.reply().Text, want)
			}
		}
		part := whole[:int(cut%uint(len(whole)-1))]
		for _, r := range []io.Reader{
			strings.NewReader(part), io.MultiReader(strings.NewReader(part), iotest.ErrReader(io.ErrUnexpectedEOF)),
		} {
			d := api.decoder()
			err := read(d, r, nil)
			if d.complete() || err == nil && d.reply().Stop != StopUnknown || errors.Is(err, errSilent) {
				t.Errorf("%q: got %+v, %v", part, d.reply(), err)
			}
		}
	})
}

func FuzzAnthropicReply(f *testing.F) {
	fuzzReply(f, Anthropic, func(q string) (string, string) {
		delta := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + q + `}}`
		return named(anthropicBegin, anthropicText, delta, anthropicReason("end_turn")), named(anthropicEnd)
	})
}

func FuzzChatReply(f *testing.F) {
	fuzzReply(f, Chat, func(q string) (string, string) {
		return sse(chatDelta(`{"content":` + q + `}`)), sse(chatEnd("stop"))
	})
}

func FuzzResponsesReply(f *testing.F) {
	fuzzReply(f, Responses, func(q string) (string, string) {
		return named(responsesBegin, `{"type":"response.output_text.delta","output_index":0,"delta":`+q+`}`), named(responsesEnd("completed", ""))
	})
}
