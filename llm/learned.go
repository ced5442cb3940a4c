package llm

import (
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// learnedKey is a model at an endpoint.
type learnedKey struct{ endpoint, model string }

// leastWindow is the smallest window that is believed, in tokens. No model has less: it would be a limit of something else.
const leastWindow = 256

// Learn keeps the window that a provider's own error has told, [Error.Limit], in tokens: of an [Overflow], or of an
// [OutputLimit] that has an Input. It holds for this endpoint and this model from now on, over what was generated, whatever
// was learned before. A window that cannot be one is ignored, as is an endpoint that is no URL. Of the endpoint only
// scheme, host and path are kept.
func (c *Catalogue) Learn(endpoint, model string, window int) {
	key, ok := learnedAt(endpoint, model)
	if !ok || window < leastWindow || window > maxTokens {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.learned == nil {
		c.learned = map[learnedKey]int{}
	}
	c.learned[key] = window
}

// learnedAt is the key of a model at an endpoint; ok is false if one of them is none.
func learnedAt(endpoint, model string) (key learnedKey, ok bool) {
	key = learnedKey{endpointOf(endpoint), strings.ToValidUTF8(model, "\uFFFD")}
	return key, key.endpoint != "" && key.model != ""
}

// endpointOf is an endpoint by its scheme, host and path, without keys that may stand elsewhere in it; "" if it is no URL.
func endpointOf(endpoint string) string {
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || u.Host == "" || u.Scheme == "" {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	return strings.ToValidUTF8(scheme+"://"+host+strings.TrimRight(u.EscapedPath(), "/"), "\uFFFD")
}

// Learned is what was learned, as JSON for [Catalogue.Relearn]. The same knowledge gives the same bytes.
func (c *Catalogue) Learned() []byte {
	var out struct {
		Windows map[string]map[string]int `json:"windows"`
	}
	out.Windows = map[string]map[string]int{}
	c.mu.RLock()
	for k, n := range c.learned {
		if out.Windows[k.endpoint] == nil {
			out.Windows[k.endpoint] = map[string]int{}
		}
		out.Windows[k.endpoint][k.model] = n
	}
	c.mu.RUnlock()
	data, _ := json.MarshalIndent(out, "", "  ") //nolint:errchkjson // texts and numbers can always be written
	return append(data, '\n')
}

const relearnMend = `it must be like {"windows": {"https://api.example.com/v1": {"my-model": 32768}}}`

// Relearn takes what [Catalogue.Learned] gave an earlier process, over what was learned since. If there is an error,
// nothing changes.
func (c *Catalogue) Relearn(data []byte) error {
	windows, err := readMember(data, "windows", relearnMend)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	learned := map[learnedKey]int{}
	maps.Copy(learned, c.learned)
	for k, models := range jsonspan.Members(data, windows) {
		name, _ := jsonspan.String(data, k)
		where := "windows." + strconv.Quote(name)
		endpoint := endpointOf(name)
		if endpoint == "" {
			return wrong(data, k, where, "is no URL", relearnMend)
		}
		if jsonspan.KindAt(data, models) != jsonspan.KindObject {
			return wrong(data, models, where, "is no object", relearnMend)
		}
		for m, v := range jsonspan.Members(data, models) {
			model, _ := jsonspan.String(data, m)
			n, err := readTokens(data, v, where+"."+strconv.Quote(model))
			if err != nil {
				return err
			}
			if key, ok := learnedAt(endpoint, model); ok && n >= leastWindow {
				learned[key] = n
			}
		}
	}
	c.learned = learned
	return nil
}
