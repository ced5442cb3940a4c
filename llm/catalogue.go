package llm

import (
	"cmp"
	"net/url"
	"strings"
	"sync"
)

// Model is what is known of a model at one provider.
type Model struct {
	// Provider is the provider's name in the catalogue: "anthropic", "bedrock", "openrouter".
	Provider string
	// ID is the model's id at that provider, Name the one for people.
	ID, Name string
	// Window is how much input and output take together, in tokens.
	Window int
	// MaxOutput is an output limit that the model is known to take, in tokens, 0 if unknown. Some take more.
	MaxOutput int
	Price     Price
	// Reasons is true if the model can reason, Images if it takes pictures.
	Reasons, Images bool
}

// Price is what tokens cost, in dollars for a million. A price of 0 is unknown, or nothing, as in a subscription.
// Some providers charge more beyond a size of the input; these prices are those below it.
type Price struct {
	Input, Output float64
	// CacheRead is the price of input that was read from the provider's cache, CacheWrite of input that was written to it.
	CacheRead, CacheWrite float64
}

// Cost is what a reply has cost, in dollars. Input that was read from the cache or written to it has prices of its own;
// where one is 0 the price of other input holds.
func (p Price) Cost(u Usage) (dollars float64) {
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	plain := max(u.Input-read-write, 0)
	return (float64(plain)*p.Input + float64(read)*orPrice(p.CacheRead, p.Input) + float64(write)*orPrice(p.CacheWrite, p.Input) +
		float64(max(u.Output, 0))*p.Output) / 1e6
}

func orPrice(price, otherwise float64) float64 {
	if price == 0 {
		return otherwise
	}
	return price
}

// Catalogue knows the windows and prices of models: what was generated with this package, over it what providers have
// taught, over that what a user says. The zero value knows nothing yet. It is safe for concurrent use, and must not be
// copied.
type Catalogue struct {
	generated func() *modelIndex // nil for none

	mu        sync.RWMutex
	overrides []override // sorted by key
	learned   map[learnedKey]int
}

// DefaultCatalogue returns a new catalogue with the models that were known when this package was made, from
// charm.land/catwalk. They are read when they are first asked for, once for all catalogues.
func DefaultCatalogue() *Catalogue { return &Catalogue{generated: embeddedModels} }

// Find returns what is known of a model. The provider may be "" or one that nobody knows: then the vendor of the model
// counts, or else, of the providers that have it, the one with the smallest window. So it does where the named provider
// is not known to have it.
//
// Agents and gateways write the ids of models in many ways, and all of these are found: as the provider writes it, in
// other case or with other separators, behind names of vendors and gateways (openrouter/anthropic/claude-opus-4.5), as
// Bedrock or Vertex write it (us.anthropic.claude-opus-4-5-20251101-v1:0, claude-opus-4-5@20251101), with a date, or
// -latest, or neither. What only looks similar is not found: a wrong window is worse than none.
func (c *Catalogue) Find(provider, model string) (Model, bool) {
	m, ok, _ := c.resolve(provider, model)
	return m, ok
}

// said is what of a model is the user's own word.
type said struct{ window, price bool }

// resolve is Find, and tells what the user says.
func (c *Catalogue) resolve(provider, model string) (m Model, ok bool, own said) {
	asked := spell(model)
	named := canonicalProvider(provider)
	if c.generated != nil {
		m, ok = c.generated().find(named, model, asked)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	providers := [...]string{named, asked.provider, m.Provider}
	for rank := tolerant; rank <= literalJoined; rank++ { // the more literal ones come last, and win
		for i := range c.overrides {
			o := &c.overrides[i]
			if o.matches(provider, model, asked, providers[:]) != rank {
				continue
			}
			if !ok {
				m = Model{Provider: strings.ToLower(provider), ID: model}
				if m.Provider == "" {
					m.Provider = asked.provider
				}
				ok = true
			}
			o.apply(&m)
			own.window = own.window || o.window > 0
			own.price = own.price || o.price != [4]*float64{}
		}
	}
	return m, ok, own
}

// Window returns the window of a model at an endpoint, in tokens, and who says so: "override" is the user, "learned" a
// provider's error, "catalogue" what was generated. It is 0 and "" if nobody does. The endpoint is the base URL of the API.
func (c *Catalogue) Window(endpoint, provider, model string) (tokens int, source string) {
	m, _, own := c.resolve(provider, model)
	if own.window {
		return m.Window, "override"
	}
	if key, ok := learnedAt(endpoint, model); ok {
		c.mu.RLock()
		n := c.learned[key]
		c.mu.RUnlock()
		if n > 0 {
			return n, "learned"
		}
	}
	if m.Window > 0 {
		return m.Window, "catalogue"
	}
	return 0, ""
}

// Price returns what tokens of a model cost at an endpoint; false if nobody says. What was generated counts only for the
// provider whose endpoint it is: the same model costs nothing on a machine of one's own, and something else elsewhere.
// Where the endpoint is "", somebody else's, the provider's name has to tell. What a user says counts wherever the
// provider is called so.
func (c *Catalogue) Price(endpoint, provider, model string) (Price, bool) {
	at := ProviderAt(endpoint)
	if endpoint == "" {
		at = canonicalProvider(provider)
	}
	m, _, own := c.resolve(cmp.Or(at, provider), model)
	if own.price || at != "" && m.Provider == at {
		return m.Price, own.price || m.Price != Price{}
	}
	return Price{}, false
}

// ProviderAt is the provider in the catalogue whose API an endpoint is, as the name of the host tells: api.openai.com,
// openrouter.ai, api.x.ai. It is "" if that tells nothing.
func ProviderAt(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "api.")
	if p := canonicalProvider(strings.ReplaceAll(host, ".", "-")); p != "" {
		return p
	}
	labels := strings.Split(host, ".")
	if len(labels) < 2 || labels[len(labels)-1] == "local" {
		return ""
	}
	return canonicalProvider(labels[len(labels)-2])
}
