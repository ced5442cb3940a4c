package secrets

import (
	"hash/maphash"
	"strings"
	"sync"
)

// A Redactor is Redact with a memory: a text that comes again, as the blocks of a transcript do, is not searched again.
// The zero value is ready for use. It is safe for concurrent use.
type Redactor struct {
	// CacheBytes bounds the memory for results, in bytes. A text without secrets takes about a hundred of them, one with
	// secrets its own length as well, and theirs. Defaults to 16 MiB.
	CacheBytes int

	// Two generations: when the young one is full the old one is let go, so that what is in use survives and the bound
	// costs no bookkeeping.
	mu         sync.Mutex
	young, old map[cacheKey]result
	size       int // of young
}

// result is what is known of a text. Its fields are empty where nothing was found.
type result struct {
	text   string // with markers
	found  int
	values []knownValue
}

// cacheKey tells texts apart: by two hashes, for one text in the place of another would be worse than a wrong count.
type cacheKey struct {
	a, b   uint64
	length int
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

const (
	defaultCacheBytes = 16 << 20
	entryBytes        = 100 // a key, a result and their share of the map, about
	// leastCached is the length of the shortest text that is kept: searching a shorter one is as fast as hashing it.
	leastCached = 256
)

// Redact is the function Redact.
func (r *Redactor) Redact(text string) (redacted string, found int) {
	known := r.search(text)
	if known.found == 0 {
		return text, 0
	}
	return known.text, known.found
}

// search returns what is known of a text, or looks for it.
func (r *Redactor) search(text string) result {
	if len(text) < leastCached {
		return newResult(text)
	}
	key := cacheKey{maphash.String(seeds[0], text), maphash.String(seeds[1], text), len(text)}
	known, ok := r.get(key)
	if !ok {
		// Searched outside the lock: two who meet here at once both search, and find the same.
		known = newResult(text)
		r.put(key, known)
	}
	return known
}

func newResult(text string) result {
	spans := find(text)
	if len(spans) == 0 {
		return result{}
	}
	return result{replace(text, spans), len(spans), valuesOf(text, spans)}
}

// size returns the bytes that a result takes in the cache, about.
func (k *result) size() int {
	const valueBytes = 32 // two strings, without what is in them
	size := entryBytes + len(k.text)
	for _, v := range k.values {
		size += valueBytes + len(v.text)
	}
	return size
}

func (r *Redactor) get(key cacheKey) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.young[key]; ok {
		return known, true
	}
	known, ok := r.old[key]
	if ok {
		r.add(key, known)
	}
	return known, ok
}

func (r *Redactor) put(key cacheKey, known result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(key, known)
}

// add puts a result into the young generation. The lock is held.
func (r *Redactor) add(key cacheKey, known result) {
	half := r.CacheBytes / 2
	if r.CacheBytes <= 0 {
		half = defaultCacheBytes / 2
	}
	size := known.size()
	if size > half {
		return
	}
	if r.young == nil || r.size+size > half {
		r.old, r.young, r.size = r.young, map[cacheKey]result{}, 0
	}
	if _, ok := r.young[key]; !ok {
		r.size += size
	}
	r.young[key] = known
}

// RedactParts returns parts that follow each other, such as the blocks of a message, with every secret in them replaced,
// and the number of secrets found. A secret is one that stands in a part alone, or that shows when the parts are joined
// without anything between them: of a secret across a border, each part has a marker for its piece. The result is a new
// slice, unless nothing was found.
func (r *Redactor) RedactParts(parts []string) (redacted []string, found int) {
	if len(parts) == 1 {
		text, n := r.Redact(parts[0])
		if n == 0 {
			return parts, 0
		}
		return []string{text}, n
	}
	joined := strings.Join(parts, "")
	spans := find(joined)
	start := 0
	for _, p := range parts {
		// Beside a border a part alone may show what it hides when another one follows it.
		if _, n := r.Redact(p); n > 0 {
			for _, s := range find(p) {
				spans = append(spans, span{start + s.start, start + s.end, s.id})
			}
		}
		start += len(p)
	}
	spans = join(spans)
	if len(spans) == 0 {
		return parts, 0
	}

	redacted = make([]string, len(parts))
	start = 0
	at := 0 // the first span that ends behind the part before
	for i, p := range parts {
		end := start + len(p)
		var pieces []span
		for k := at; k < len(spans) && spans[k].start < end; k++ {
			s := spans[k]
			if s.start, s.end = max(s.start, start)-start, min(s.end, end)-start; s.start < s.end {
				pieces = append(pieces, s)
			}
			if spans[k].end <= end {
				at = k + 1
			}
		}
		redacted[i] = replace(p, pieces)
		start = end
	}
	return redacted, len(spans)
}
