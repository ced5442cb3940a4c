package token

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"github.com/pemmican-dev/pemmican"
)

// Cached is a pemmican.Counter that remembers what it has counted, so that counting a transcript again pays only for
// the blocks that are new. It keeps no text: a block is known by the hash of its content, under a seed of its own, and
// by the sizes of its parts. Make one with NewCache. It is safe for concurrent use.
type Cached struct {
	counter pemmican.Counter
	seed    maphash.Seed
	half    int

	// Two generations: when the young one is full the old one is let go, so that what is in use survives and the bound
	// costs no bookkeeping.
	mu         sync.RWMutex
	young, old map[cacheKey]int
}

var (
	_ pemmican.Counter     = (*Cached)(nil)
	_ pemmican.CounterInfo = (*Cached)(nil)
)

// defaultEntries is enough for some dozens of long sessions, in a few megabytes.
const defaultEntries = 1 << 16

// NewCache returns a cache of at most maxEntries counts before counter. A counter that is nil is an Estimator; a
// maxEntries that is not positive is 65,536, and one entry is two.
//
// The counter must go by what a block holds (kind, texts, media, size) and not by where it stands: the cache takes no
// notice of Message, CallID and Pinned.
func NewCache(counter pemmican.Counter, maxEntries int) *Cached {
	if counter == nil {
		counter = Estimator{}
	}
	if maxEntries <= 0 {
		maxEntries = defaultEntries
	}
	return &Cached{
		counter: counter,
		seed:    maphash.MakeSeed(),
		half:    max(1, maxEntries/2),
		young:   map[cacheKey]int{},
	}
}

// Name returns the name of the counter behind the cache, "" if it has none.
func (c *Cached) Name() string {
	if info, ok := c.counter.(pemmican.CounterInfo); ok {
		return info.Name()
	}
	return ""
}

// Exact reports whether the counter behind the cache is exact.
func (c *Cached) Exact() bool {
	info, ok := c.counter.(pemmican.CounterInfo)
	return ok && info.Exact()
}

// Count returns what the counter behind the cache returns for b.
func (c *Cached) Count(b *pemmican.Block) int {
	key := c.key(b)
	c.mu.RLock()
	n, ok := c.young[key]
	aged := false
	if !ok {
		n, aged = c.old[key]
	}
	c.mu.RUnlock()
	if ok {
		return n
	}
	if !aged {
		// Counted outside the lock: two who meet here at once both count, and get the same.
		n = c.counter.Count(b)
	}
	c.mu.Lock()
	if len(c.young) >= c.half {
		c.old, c.young = c.young, make(map[cacheKey]int, c.half/4)
	}
	c.young[key] = n
	c.mu.Unlock()
	return n
}

// cacheKey tells blocks apart. The sizes stand beside the hash so that a collision would also need equal sizes.
type cacheKey struct {
	sum        uint64
	text, args int
	bytes      int
	kind       pemmican.Kind
}

func (c *Cached) key(b *pemmican.Block) cacheKey {
	// What is fixed in size goes first, with the lengths of the texts, so that no two blocks feed the same bytes.
	var head [42]byte
	head[0] = byte(b.Kind)
	if b.Error {
		head[1] |= 1
	}
	if b.Bound {
		head[1] |= 2
	}
	for i, n := range [...]int{len(b.Tool), len(b.Media.Type), len(b.Media.Name), b.Media.Width, b.Media.Height} {
		binary.LittleEndian.PutUint64(head[2+8*i:], uint64(n))
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.Write(head[:])
	if b.Tool != "" || b.Kind == pemmican.Media {
		h.WriteString(b.Tool)
		h.WriteString(b.Media.Type)
		h.WriteString(b.Media.Name)
	}
	h.WriteString(b.Args)
	h.WriteString(b.Text)
	return cacheKey{sum: h.Sum64(), text: len(b.Text), args: len(b.Args), bytes: b.Bytes, kind: b.Kind}
}
