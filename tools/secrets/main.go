// Command secrets makes what package internal/secrets knows of gitleaks: its rules in a compact form, and its licence.
//
//	cd tools/secrets && go run .
//
// It takes the default configuration of the version of gitleaks that go.mod names. The module is apart from the main
// one, so that gitleaks and what it needs are no dependencies of the program; the tests here hold the main module's
// package against gitleaks' own detector.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
)

const target = "../../internal/secrets/gitleaks"

func main() {
	if err := generate(target); err != nil {
		fmt.Fprintln(os.Stderr, "secrets:", err)
		os.Exit(1)
	}
}

// generate writes the rules and the licence into dir.
func generate(dir string) error {
	data, err := compactRules()
	if err != nil {
		return err
	}
	licence, err := gitleaksLicence()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), licence, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "rules.json"), data, 0o644)
}

func gitleaksLicence() ([]byte, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		return nil, fmt.Errorf("find gitleaks: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "LICENSE"))
}

// rule is one line of rules.json. The fields are explained where they are read, in internal/secrets/rules.go.
type rule struct {
	ID      string   `json:"id"`
	Regex   string   `json:"regex"`
	Or      string   `json:"or,omitempty"`
	Anchors []string `json:"anchors,omitempty"`
	Back    int      `json:"back,omitempty"`
	Gate    []string `json:"gate,omitempty"`
	After   string   `json:"after,omitempty"`
	Assign  bool     `json:"assign,omitempty"`
	Group   int      `json:"group,omitempty"`
	Entropy float64  `json:"entropy,omitempty"`
	Allow   []allow  `json:"allow,omitempty"`
}

type allow struct {
	Target    string   `json:"target,omitempty"`
	Regexes   []string `json:"regexes,omitempty"`
	StopWords []string `json:"stopWords,omitempty"`
}

// leftOut are the rules that make no sense for the text of a transcript, or for which internal/secrets has better.
var leftOut = map[string]string{
	"freemius-secret-key":    "only for paths that end in .php; the secret has a name that our own rule for names knows",
	"hashicorp-tf-password":  "only for paths that end in .tf or .hcl; the secret has a name that our own rule for names knows",
	"kubernetes-secret-yaml": "only for paths that end in .yaml, and finds the first value only; ours finds all of them",
	"pkcs12-file":            "looks at a path and at no text",
	"private-key":            "wants an END line, and runs on to the next one; ours takes a body that was cut off, and nothing else",
}

// A match of most rules begins with a literal, which is found by the automaton of internal/secrets, or with a stretch of
// any name before that literal. These do not.
var overrides = map[string]func(*rule){
	// Here the literal stands at most that many bytes from the beginning.
	"azure-ad-client-secret": func(r *rule) { r.Anchors, r.Back = []string{"q~"}, 5 },
	"hashicorp-tf-api-token": func(r *rule) { r.Anchors, r.Back = []string{"atlasv1"}, 15 },
	"maxmind-license-key":    func(r *rule) { r.Anchors, r.Back = []string{"_mmk"}, 36 },
	"microsoft-teams-webhook": func(r *rule) {
		// A label of a host name has 63 bytes at most. The captures of this rule are parts of the secret.
		r.Anchors, r.Back, r.Group = []string{".webhook.office.com"}, len("https://")+63, -1
	},
	"slack-webhook-url": func(r *rule) { r.Anchors, r.Back = []string{"hooks"}, len("https://") },

	// Half of this rule looks for a name, the other half for a shape.
	"atlassian-api-token": func(r *rule) { r.Assign = false },
	// The name may have any byte in it.
	"mailchimp-api-key": func(r *rule) { r.Assign = false },

	// These have nothing but a shape that other things have as well, so they count where the vendor is named.
	"facebook-access-token":    func(r *rule) { r.Anchors, r.Gate = nil, []string{"facebook"} },
	"sourcegraph-access-token": func(r *rule) { r.Anchors, r.Gate = nil, []string{"sourcegraph", "sgp_"} },

	// The option is looked for, and then the command before it.
	"curl-auth-header": func(r *rule) {
		_, r.Regex, _ = strings.Cut(r.Regex, `[ \t\n\r]`)
		r.Anchors, r.After = []string{"-h", "--header"}, "curl"
	},
	"curl-auth-user": func(r *rule) {
		_, r.Regex, _ = strings.Cut(r.Regex, `[ \t\n\r]`)
		r.Anchors, r.After = []string{"-u", "--user"}, "curl"
	},

	// The values of this rule are of two kinds. Each for itself can be told by its length and its characters before the
	// regular expression is asked, and this rule is asked the most.
	"generic-api-key": func(r *rule) {
		const first, second = `[\w.=-]{10,150}`, `[a-z0-9][a-z0-9+/]{11,}={0,3}`
		regex := r.Regex
		r.Regex = strings.Replace(regex, "("+first+"|"+second+")", "("+first+")", 1)
		r.Or = strings.Replace(regex, "("+first+"|"+second+")", "("+second+")", 1)
		if r.Regex == regex {
			panic("the values of generic-api-key have changed: see how to tell them now")
		}
	},

	// The captures of this rule are a small part of the secret.
	"jwt-base64": func(r *rule) { r.Group = -1 },
}

// The parts of which gitleaks builds the rules that look for a name, a sign of assignment and a value.
const (
	namePrefix    = `[\w.-]{0,50}?`
	beforeSign    = `[\s'"]{0,3}`
	sign          = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
	beforeValue   = `[\x60'"\s=]{0,5}`
	behindValue   = `(?:[\x60'"\s;]|\\[nr]|$)`
	assignment    = beforeSign + sign + beforeValue
	assignmentCI  = beforeSign + `)` + sign + beforeValue // the name stands in a group of its own
	ourBefore     = `[\s'"\\]{0,8}`
	ourValue      = `[\x60'"\s=\\]{0,8}`
	ourBehind     = `(?:[\x60'"\s;]|\\[nrt"'\x60\\]|$)`
	ourBehindBare = `(?:[^\w(+/]|$)`
)

// compactRules returns the rules as a JSON document with one rule in a line. The first rule has no name: its allowlists
// are those for all rules.
func compactRules() ([]byte, error) {
	cfg, err := defaultConfig()
	if err != nil {
		return nil, err
	}
	rules := []rule{{Allow: allowlists(cfg.Allowlists, nil)}}
	for _, id := range slices.Sorted(maps.Keys(cfg.Rules)) {
		if leftOut[id] != "" {
			continue
		}
		r, err := compact(cfg.Rules[id])
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", id, err)
		}
		rules = append(rules, r)
	}

	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i, r := range rules {
		out.WriteString(",\n"[min(i, 1)^1:])
		if i == 0 {
			out.Reset()
			out.WriteString("[\n")
		}
		if err := enc.Encode(r); err != nil {
			return nil, err
		}
		out.Truncate(out.Len() - 1) // the line end of Encode
	}
	out.WriteString("\n]\n")
	return out.Bytes(), nil
}

func defaultConfig() (config.Config, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return config.Config{}, err
	}
	var raw config.ViperConfig
	if err := v.Unmarshal(&raw); err != nil {
		return config.Config{}, err
	}
	return raw.Translate()
}

func compact(from config.Rule) (rule, error) {
	if from.Regex == nil {
		return rule{}, errors.New("has no regex: leave it out, with a reason")
	}
	r := rule{
		ID:      from.RuleID,
		Regex:   from.Regex.String(),
		Group:   from.SecretGroup,
		Entropy: from.Entropy,
		Allow:   allowlists(from.Allowlists, from.Regex),
	}

	// The name before the literal is no part of the secret, and the literal is where the search begins.
	if strings.Contains(r.Regex, assignment) || strings.Contains(r.Regex, assignmentCI) {
		r.Assign = true
		r.Regex = strings.ReplaceAll(r.Regex, namePrefix, "")
		// A transcript holds JSON in JSON: quotes and line ends there have backslashes.
		r.Regex = strings.ReplaceAll(r.Regex, assignmentCI, ourBefore+`)`+sign+ourValue)
		r.Regex = strings.ReplaceAll(r.Regex, assignment, ourBefore+sign+ourValue)
		r.Regex = strings.ReplaceAll(r.Regex, behindValue, ourBehind)
	} else {
		// In prose and in source code a secret may end at a comma or a bracket.
		r.Regex = strings.ReplaceAll(r.Regex, behindValue, ourBehindBare)
	}

	if change, ok := overrides[r.ID]; ok {
		change(&r)
	}
	tree, err := syntax.Parse(r.Regex, syntax.Perl)
	if err != nil {
		return rule{}, err
	}
	if r.Anchors == nil && r.Gate == nil {
		literals, _ := leads(tree)
		for _, l := range literals {
			r.Anchors = append(r.Anchors, strings.ToLower(l))
		}
		r.Anchors = shortest(r.Anchors)
	}
	for _, a := range r.Anchors {
		if len(a) < 2 {
			return rule{}, fmt.Errorf("a match may begin with %q, which is too short to look for: it needs an override", a)
		}
	}
	return r, nil
}

// shortest returns the literals in order, without those that begin with another one.
func shortest(literals []string) (out []string) {
	slices.Sort(literals)
	for _, l := range literals {
		if len(out) == 0 || !strings.HasPrefix(l, out[len(out)-1]) {
			out = append(out, l)
		}
	}
	return out
}

// leads returns literals of which one stands at the beginning of every match of re, and whether that is the whole match.
func leads(re *syntax.Regexp) (literals []string, whole bool) {
	const (
		most    = 16 // literals
		longest = 16 // bytes
	)
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, true
	case syntax.OpCharClass: // both cases of a letter, or one of two letters: not ten digits
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if len(literals) == 4 {
					return []string{""}, false
				}
				literals = append(literals, string(c))
			}
		}
		return literals, true
	case syntax.OpCapture:
		return leads(re.Sub[0])
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpBeginText:
		return []string{""}, true
	case syntax.OpQuest:
		literals, whole = leads(re.Sub[0])
		return append(literals, ""), whole
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			l, w := leads(sub)
			literals, whole = append(literals, l...), whole && w
		}
		return literals, whole
	case syntax.OpConcat:
		literals = []string{""}
		for _, sub := range re.Sub {
			l, w := leads(sub)
			if len(l)*len(literals) > most {
				return literals, false
			}
			var joined []string
			for _, head := range literals {
				for _, tail := range l {
					joined = append(joined, head+tail)
				}
			}
			literals = joined
			if !w || len(slices.MinFunc(literals, func(a, b string) int { return cmp.Compare(len(a), len(b)) })) >= longest {
				return literals, false
			}
		}
		return literals, true
	default:
		return []string{""}, false
	}
}

// allowlists returns what of the lists can be said of text: paths and commits are left out, and a list that wants a path
// beside something else never holds. An entry that is itself what the rule looks for, a key from some manual, is left
// out too: it would make this repository look like a leak, and nothing is lost when it is redacted.
func allowlists(lists []*config.Allowlist, secret *regexp.Regexp) (out []allow) {
	for _, l := range lists {
		if l.MatchCondition == config.AllowlistMatchAnd && len(l.Paths)+len(l.Commits) > 0 {
			continue
		}
		a := allow{Target: l.RegexTarget, StopWords: slices.Sorted(slices.Values(l.StopWords))}
		for _, re := range l.Regexes {
			if secret == nil || !secret.MatchString(re.String()) {
				a.Regexes = append(a.Regexes, re.String())
			}
		}
		if len(a.Regexes)+len(a.StopWords) > 0 {
			out = append(out, a)
		}
	}
	return out
}
