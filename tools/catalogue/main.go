// Command catalogue writes the catalogue of models that package llm embeds, from the data of charm.land/catwalk (MIT).
// It is a module of its own, so that the program does not depend on catwalk. "go generate ./llm" in the root of the
// repository runs it:
//
//	catalogue FOLDER
//
// It writes catalogue.json and catalogue.LICENSE into the folder. To take up a newer catwalk, run "go get
// charm.land/catwalk@latest" here, then "go generate ./llm" there, and look at the difference. "go test" here fails if
// what is committed is not what this would write.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: catalogue FOLDER")
		os.Exit(2)
	}
	files, err := generate()
	for name, data := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(os.Args[1], name), data, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "catalogue:", err)
		os.Exit(1)
	}
}

const source = "charm.land/catwalk"

// generate returns the files by their names.
func generate() (map[string][]byte, error) {
	var module struct{ Version, Dir string }
	out, err := exec.Command("go", "list", "-m", "-json", source).Output()
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		return nil, fmt.Errorf("where is %s: %w", source, err)
	}
	licence, err := os.ReadFile(filepath.Join(module.Dir, "LICENSE"))
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"catalogue.json":    catalogue(embedded.GetAll(), module.Version),
		"catalogue.LICENSE": licence,
	}, nil
}

// catalogue is the JSON: one line for each model, sorted, so that a new version of the source is a readable difference.
func catalogue(providers []catwalk.Provider, version string) []byte {
	slices.SortFunc(providers, func(a, b catwalk.Provider) int { return cmp.Compare(a.ID, b.ID) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"source\":%s,\n\"row\":%s,\n\"providers\":{", quote(source+" "+version+", MIT licence in catalogue.LICENSE; generated, do not edit"),
		quote("id, name, window, max output, r: reasons and i: images, prices of input, output, cache read, cache write"))
	for i, p := range providers {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%s:[", quote(string(p.ID)))
		models := slices.Clone(p.Models)
		slices.SortFunc(models, func(a, b catwalk.Model) int { return cmp.Compare(a.ID, b.ID) })
		first := true
		for _, m := range models {
			if m.ContextWindow <= 0 || m.ID == "auto" {
				continue // the window is what the catalogue is for, and a router of models has none
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString("\n" + row(p.ID, m))
		}
		b.WriteByte(']')
	}
	b.WriteString("}}\n")
	return b.Bytes()
}

// row is one model. A name that is the id is left empty, and prices that are 0 are left out from the end.
func row(provider catwalk.InferenceProvider, m catwalk.Model) string {
	name := m.Name
	if name == m.ID {
		name = ""
	}
	flags := ""
	if m.CanReason {
		flags += "r"
	}
	if m.SupportsImages {
		flags += "i"
	}
	read, write := cachePrices(provider, m)
	prices := []float64{m.CostPer1MIn, m.CostPer1MOut, read, write}
	for len(prices) > 0 && prices[len(prices)-1] == 0 {
		prices = prices[:len(prices)-1]
	}
	fields := []string{quote(m.ID), quote(name), fmt.Sprint(m.ContextWindow), fmt.Sprint(max(m.DefaultMaxTokens, 0)), quote(flags)}
	for _, p := range prices {
		fields = append(fields, fmt.Sprint(math.Round(max(p, 0)*1e6)/1e6)) // 0.09999999999999999 is 0.1
	}
	return "[" + strings.Join(fields, ",") + "]"
}

// cachePrices tells what reading from the cache and writing to it cost, 0 for unknown. By the letter of catwalk the field
// "in cached" is the price of a write and "out cached" that of a read, but a part of its data has them the other way
// round, or the price of output in them. So: a write costs more than input and at most twice as much, a read costs less
// than input, and what is neither is no price. Where both are less, "out cached" is the read, but with MiniMax.
func cachePrices(provider catwalk.InferenceProvider, m catwalk.Model) (read, write float64) {
	in := m.CostPer1MIn
	both := []float64{m.CostPer1MOutCached, m.CostPer1MInCached}
	if provider == catwalk.InferenceProviderMiniMax || provider == catwalk.InferenceProviderMiniMaxChina {
		slices.Reverse(both)
	}
	for _, price := range both {
		switch {
		case price == m.CostPer1MOut:
		case 0 < price && price < in && read == 0:
			read = price
		case in < price && price <= 2*in && write == 0:
			write = price
		}
	}
	return read, write
}

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // text can always be encoded
	return strings.TrimSpace(b.String())
}
