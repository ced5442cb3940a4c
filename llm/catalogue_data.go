package llm

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/pemmican-dev/pemmican/internal/jsonspan"
)

// To take up a newer source see tools/catalogue/main.go.
//go:generate go run -C ../tools/catalogue . ../../llm

//go:embed catalogue.json
var catalogueJSON []byte

// embeddedModels are the models of catalogue.json.
var embeddedModels = sync.OnceValue(func() *modelIndex { return readModels(catalogueJSON) })

// modelIndex finds models by the ways to write their ids.
type modelIndex struct {
	models []Model
	exact  map[[2]string]int // provider and id
	ids    map[string][]int  // id
	forms  map[string][]int  // spelling.form
	bases  map[string][]int  // spelling.base
	dated  []bool            // by model: its id has a date
}

// readModels reads what tools/catalogue has written, whose tests and ours check that it is valid.
func readModels(data []byte) *modelIndex {
	n := bytes.Count(data, []byte("\n"))
	x := &modelIndex{
		models: make([]Model, 0, n), dated: make([]bool, 0, n),
		exact: make(map[[2]string]int, n), ids: make(map[string][]int, n), forms: make(map[string][]int, n/2), bases: make(map[string][]int, n/2),
	}
	providers, _ := jsonspan.Lookup(data, jsonspan.Span{End: len(data)}, "providers")
	for k, v := range jsonspan.Members(data, providers) {
		provider, _ := jsonspan.String(data, k)
		for row := range jsonspan.Elements(data, v) {
			x.add(readModel(data, row, provider))
		}
	}
	return x
}

func readModel(data []byte, row jsonspan.Span, provider string) Model {
	m := Model{Provider: provider}
	prices := [...]*float64{&m.Price.Input, &m.Price.Output, &m.Price.CacheRead, &m.Price.CacheWrite}
	column := 0
	for s := range jsonspan.Elements(data, row) {
		switch column {
		case 0:
			m.ID, _ = jsonspan.String(data, s)
		case 1:
			if m.Name, _ = jsonspan.String(data, s); m.Name == "" {
				m.Name = m.ID
			}
		case 2:
			n, _ := jsonspan.Int(data, s)
			m.Window = int(n)
		case 3:
			n, _ := jsonspan.Int(data, s)
			m.MaxOutput = int(n)
		case 4:
			flags, _ := jsonspan.String(data, s)
			m.Reasons, m.Images = strings.Contains(flags, "r"), strings.Contains(flags, "i")
		default:
			if i := column - 5; i < len(prices) {
				*prices[i], _ = jsonspan.Float(data, s)
			}
		}
		column++
	}
	return m
}

func (x *modelIndex) add(m Model) {
	i := len(x.models)
	s := spell(m.ID)
	x.models = append(x.models, m)
	x.dated = append(x.dated, s.form != s.base)
	x.exact[[2]string{m.Provider, m.ID}] = i
	x.ids[m.ID] = append(x.ids[m.ID], i)
	if s.variant { // a model that is free may have less of a window; who wants it says so
		return
	}
	x.forms[s.form] = append(x.forms[s.form], i)
	x.bases[s.base] = append(x.bases[s.base], i)
}

// find looks where it is told to, then at the vendor that the id names, then at the one whose model it is, then anywhere.
func (x *modelIndex) find(provider, model string, asked spelling) (Model, bool) {
	i := -1
	for _, p := range [...]string{provider, asked.provider, vendorOf(asked.form)} {
		if p != "" && i < 0 {
			i = x.at(p, model, asked)
		}
	}
	if i < 0 {
		i = x.anywhere(model, asked)
	}
	if i < 0 {
		return Model{}, false
	}
	m := x.models[i]
	if asked.million && vendorOf(asked.form) == "anthropic" {
		m.Window = max(m.Window, 1_000_000)
	}
	return m, true
}

// at finds a model of one provider, -1 for none.
func (x *modelIndex) at(provider, model string, asked spelling) int {
	if i, ok := x.exact[[2]string{provider, model}]; ok {
		return i
	}
	if before, rest, ok := strings.Cut(model, "/"); ok && canonicalProvider(before) == provider {
		if i, ok := x.exact[[2]string{provider, rest}]; ok {
			return i
		}
	}
	its := func(list []int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return x.models[i].Provider != provider })
	}
	if i := x.least(its(x.forms[asked.form])); i >= 0 {
		return i
	}
	// Of several dates the one without is the newest, and the last one is it otherwise: ids are sorted.
	list := its(x.bases[asked.base])
	for _, i := range list {
		if !x.dated[i] {
			return i
		}
	}
	if len(list) == 0 {
		return -1
	}
	return list[len(list)-1]
}

// anywhere finds the model with the smallest window of all providers, -1 for none.
func (x *modelIndex) anywhere(model string, asked spelling) int {
	for _, list := range [...][]int{x.forms[asked.form], x.bases[asked.base], x.ids[model]} {
		if asked.variant && len(x.ids[model]) > 0 {
			list = x.ids[model]
		}
		if i := x.least(list); i >= 0 {
			return i
		}
	}
	return -1
}

// least is the model with the smallest window, -1 of none. Of equal ones it is the first with a price.
func (x *modelIndex) least(list []int) int {
	best := -1
	for _, i := range list {
		switch {
		case best < 0, x.models[i].Window < x.models[best].Window,
			x.models[i].Window == x.models[best].Window && x.models[best].Price.Input == 0 && x.models[i].Price.Input > 0:
			best = i
		}
	}
	return best
}
