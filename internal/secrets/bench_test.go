package secrets

import (
	"strconv"
	"strings"
	"testing"
)

const benchBytes = 4 << 20

// BenchmarkRedact is the speed for real text of several kinds. BenchmarkPlain is that of the plainest pass over the same
// text, to compare machines by.
func BenchmarkRedact(b *testing.B) {
	bench(b, func(text string) { Redact(text) })
}

func BenchmarkPlain(b *testing.B) {
	bench(b, func(text string) { lowered = strings.ToLower(text) })
}

var lowered string // where the result goes, so that it is made

func bench(b *testing.B, do func(text string)) {
	texts := sources(b, benchBytes)
	var mixed strings.Builder
	for _, s := range texts {
		mixed.WriteString(s.text)
	}
	texts = append(texts, source{"mixed", mixed.String()})
	for _, s := range texts {
		b.Run(s.name, func(b *testing.B) {
			do(s.text) // compiles the rules that it needs
			b.SetBytes(int64(len(s.text)))
			b.ReportAllocs()
			for b.Loop() {
				do(s.text)
			}
		})
	}
}

// BenchmarkRedactor is the speed for a text that comes again.
func BenchmarkRedactor(b *testing.B) {
	text := sources(b, benchBytes)[0].text
	var r Redactor
	r.Redact(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Redact(text)
	}
}

// BenchmarkRemove is the speed for real text, with few values and with as many as are known.
func BenchmarkRemove(b *testing.B) {
	text := sources(b, benchBytes)[0].text
	for _, count := range []int{10, mostKnown} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			k := knownPasswords(count)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				k.Remove(text)
			}
		})
	}
	b.Run("worst", func(b *testing.B) {
		var r Redactor
		k := r.Secrets("DB_PASSWORD=" + strings.Repeat("a", 500) + "1\nDB_PASSWORD=" + strings.Repeat("a", 499) + "2b")
		text := strings.Repeat("a", len(text))
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			k.Remove(text)
		}
	})
}

// BenchmarkWorst is for texts that are made of what the rules look for: the speed for four times as much has to be the same.
func BenchmarkWorst(b *testing.B) {
	for _, s := range worst() {
		for _, size := range []int{1 << 18, 1 << 20} {
			name := s.name + "/256K"
			if size > 1<<18 {
				name = s.name + "/1M"
			}
			text := strings.Repeat(s.text, size/len(s.text))
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Redact(text)
				}
			})
		}
	}
}

// worst returns texts that cost the most when they are repeated.
func worst() []source {
	return []source{
		{"names", "key token secret password api auth access credential "},
		{"signs", "key=token=secret=password=api=auth="},
		{"values", "key = " + strings.Repeat("aB3", 20) + " "},
		{"long", "key=" + random(200, 400, alnum) + "key"},
		{"near", "api_key = " + random(201, 40, alnum) + "(" + " "},
		{"words", strings.Join(samples.words, " ")},
		{"joined", strings.Join(samples.words, "")},
		{"assigned", strings.Join(samples.words, "=")},
		{"quotes", `password="aaaa token="bbbb `},
		{"escaped", `\"password\":\"`},
		{"urls", "http://a:b"},
		{"colons", "://::::"},
		{"curl", "curl -H -u --user --header "},
		{"headers", "authorization: bearer bearer "},
		{"cookies", "cookie: a=b; cookie: "},
		{"keys", dashes + "BEGIN PRIVATE KEY" + dashes + "\n"},
		{"bodies", dashes + "BEGIN PRIVATE KEY" + dashes + "\nabcdabcdabcd"},
		{"dashes", "-----begin"},
		{"tokens", "eyJ.eyJeyJeyJeyJ.eyJ-eyJ"},
		{"dots", "eyJaaaaaaaaaaaaaaaaaaa."},
		{"kubernetes", "kind: Secret data: stringData: "},
		{"gates", "sourcegraph facebook " + random(202, 40, hex) + "x 1234567890123456|"},
		{"prefixes", "sk-sk_live_ghp_xoxb-AKIAeyJ"},
		{"markers", "[redacted: jwt]key=[redacted: "},
		{"kelvin", "to" + kelvin + "en = " + longS + "ecret "},
		{"sentences", "the password of the password is pass is 'password is "},
		{"pairs", "name: password\nvalue: name=password value=password, value: "},
		{"tags", "<password>&lt;password&gt;\\u003cpassword\\u003e"},
		{"cells", "| password | **token:** "},
		{"entities", "password&quot;:&quot;password\\u0022:\\u0022"},
		{"lists", "\"--password\", --token\n- "},
		{"commands", "mysql -u sshpass echo a | sudo -S curl \"-u\" "},
		{"hashes", "$6$$2b$$argon2"},
		{"files", "*:*:*:*:a:5432:"},
		{"parameters", "?code=&sig=&amp;signature="},
		{"phrases", "password='a b password=\"c d mnemonic seed phrase "},
		{"scripts", "密码：パスワード是пароль: "},
		{"short", "pass: pw pwd=pass "},
		{"secrets", "DB_PASSWORD=hunter2\n" + "gh" + "p_" + random(203, 36, alnum) + "\n"},
	}
}

// TestWorst: the properties of every text hold for these too. That the time for them grows with their length only is what
// BenchmarkWorst shows.
func TestWorst(t *testing.T) {
	for _, s := range worst() {
		text := strings.Repeat(s.text, 1<<16/len(s.text))
		check(t, text)
	}
}
