package llm

import "strings"

// spelling is what an id of a model comes to, however it is written.
type spelling struct {
	// provider is the one that stands before the model, "" if none does that is known.
	provider string
	// form is the name without what does not tell models apart, base the same without a date.
	form, base string
	// variant is true for another offer of the same model, as model:free of OpenRouter.
	variant bool
	// million is true for [1m], by which Claude Code asks for a window of a million tokens.
	million bool
}

// spell takes an id apart.
func spell(id string) spelling {
	var out spelling
	s := strings.ToLower(strings.TrimSpace(id))
	s, out.million = strings.CutSuffix(s, "[1m]")

	// Names of gateways, vendors, accounts and publishers.
	fireworks := false
	for {
		before, after, ok := strings.Cut(s, "/")
		if !ok {
			break
		}
		if out.provider == "" {
			out.provider = canonicalProvider(before)
		}
		fireworks = fireworks || before == "fireworks"
		s = after
	}

	// Vertex: model@date, model@default.
	if before, after, ok := strings.Cut(s, "@"); ok {
		s = before
		if after != "default" && after != "latest" {
			s += "-" + after
		}
	}

	// Bedrock: region.vendor.model-date-v1:0. OpenRouter: model:variant.
	dotted := false
	first, rest, ok := strings.Cut(s, ".")
	if ok && bedrockRegions[first] {
		if vendor, after, more := strings.Cut(rest, "."); more && bedrockVendors[vendor] {
			first, rest = vendor, after
		}
	}
	if ok && bedrockVendors[first] {
		s, dotted = rest, true
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		switch tag := s[i+1:]; {
		case offers[tag]:
			s, out.variant = s[:i], true
		case tag != "" && allDigits(tag):
			s, dotted = s[:i], true
			if at := strings.LastIndexByte(s, '-'); at >= 0 && at+1 < len(s) && allDigits(s[at+1:]) && len(s)-at <= 3 && strings.HasPrefix(s, "gpt-oss") {
				s = s[:at] // openai.gpt-oss-120b-1:0
			}
		}
	}
	if i := strings.LastIndex(s, "-v"); dotted && i > 0 && i+2 < len(s) && allDigits(s[i+2:]) {
		s = s[:i]
	}

	if fireworks {
		s = pointed(s)
	}
	s, _ = strings.CutSuffix(s, "-latest")
	if s == "claude-opus-4-0" || s == "claude-sonnet-4-0" { // Anthropic's own alias for the first of the series
		s = s[:len(s)-2]
	}
	out.form = joined(s)
	out.base = out.form
	if u := undated(s); u != s {
		out.base = joined(u)
	}
	return out
}

// joined is a name without separators but those between digits, which are all one: gpt-4.1 and gpt-4-1, but not gpt-41.
func joined(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case '-', '_', '.', ' ':
			if 0 < i && i+1 < len(s) && isDigit(s[i-1]) && isDigit(s[i+1]) {
				b.WriteByte('-')
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// undated is a name without the date at its end: -20250929 or -2025-09-29. Four digits are no date: they tell models
// apart, as gpt-3.5-turbo-0613.
func undated(s string) string {
	if n := len(s) - len("-20250929"); n > 0 && s[n] == '-' && allDigits(s[n+1:]) && strings.HasPrefix(s[n+1:], "20") {
		return s[:n]
	}
	n := len(s) - len("-2025-09-29")
	if n <= 0 || !strings.HasPrefix(s[n:], "-20") || s[n+5] != '-' || s[n+8] != '-' || !allDigits(s[n+1:n+5]+s[n+6:n+8]+s[n+9:]) {
		return s
	}
	return s[:n]
}

// pointed is a name with the points that Fireworks writes as p: glm-5p2.
func pointed(s string) string {
	b := []byte(s)
	for i := 1; i+1 < len(b); i++ {
		if b[i] == 'p' && isDigit(b[i-1]) && isDigit(b[i+1]) {
			b[i] = '.'
		}
	}
	return string(b)
}

// vendorOf is the provider in the catalogue that makes the models whose form begins like this one, "" if none is known.
func vendorOf(form string) string {
	for _, v := range vendors {
		if strings.HasPrefix(form, v[0]) {
			return v[1]
		}
	}
	if len(form) > 1 && form[0] == 'o' && isDigit(form[1]) { // o3, o4-mini
		return "openai"
	}
	return ""
}

var vendors = [...][2]string{
	{"claude", "anthropic"}, {"gpt", "openai"}, {"chatgpt", "openai"}, {"codex", "openai"}, {"gemini", "gemini"}, {"grok", "xai"},
	{"deepseek", "deepseek"}, {"kimi", "moonshot"}, {"moonshot", "moonshot"}, {"glm", "zai"}, {"minimax", "minimax"},
	{"qwen", "alibaba-singapore"}, {"qwq", "alibaba-singapore"},
}

// canonicalProvider is the name of a provider in the catalogue, "" if it is not known: agents and gateways have names of
// their own for them.
func canonicalProvider(name string) string {
	return providerNames[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")]
}

var providerNames = func() map[string]string {
	names := map[string]string{}
	for canonical, others := range map[string]string{
		"aihubmix": "", "alibaba-singapore": "alibaba dashscope qwen", "alibaba-us": "", "anthropic": "claude", "atlascloud": "", "avian": "",
		"azure": "azure-openai azure-openai-responses azure-cognitive-services azure-ai", "baseten": "",
		"bedrock": "amazon-bedrock aws-bedrock bedrock-converse aws", "bedrock-europe": "", "cerebras": "", "chutes": "chutes-ai",
		"copilot": "github-copilot", "cortecs": "", "deepseek": "deepseek-ai", "fireworks": "fireworks-ai",
		"gemini": "google google-gemini google-gemini-cli gemini-cli google-ai google-generative-ai", "groq": "", "huggingface": "hf",
		"ionet": "io.net", "kimi-coding": "kimi-for-coding", "minimax": "minimaxai", "minimax-china": "minimax-cn", "moonshot": "moonshotai moonshot-ai",
		"nebius": "", "neuralwatt": "", "openai": "openai-responses openai-native openai-codex openai-chat chatgpt", "opencode-go": "",
		"opencode-zen": "opencode", "openrouter": "", "qiniucloud": "", "scaleway": "", "synthetic": "", "venice": "",
		"vercel": "vercel-ai-gateway ai-gateway", "vertexai": "vertex vertex-ai google-vertex google-vertex-anthropic", "xai": "x-ai",
		"zai": "z-ai zai-org z.ai", "zhipu": "zhipuai", "zhipu-coding": "",
	} {
		names[canonical] = canonical
		for other := range strings.FieldsSeq(others) {
			names[other] = canonical
		}
	}
	return names
}()

var (
	bedrockRegions = codes("us", "eu", "apac", "global", "jp", "au", "ca", "sa", "us-gov")
	bedrockVendors = codes(
		"ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai", "nvidia", "openai", "qwen",
		"stability", "twelvelabs", "writer", "zai",
	)
	// offers are variants of OpenRouter that are the same model.
	offers = codes("free", "nitro", "floor", "online", "exacto", "beta", "extended")
)
