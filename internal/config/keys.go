package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/pemmican-dev/pemmican/session"
)

// key is one setting.
type key struct {
	name  string // as in a file, "hooks.timeout" for one in a table
	index []int  // of the field in session.Settings
	typ   reflect.Type
}

// keys are all settings, in the order of session.Settings.
var keys = keysOf(reflect.TypeFor[session.Settings](), "", nil)

func keysOf(t reflect.Type, prefix string, index []int) []key {
	var out []key
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := slices.Concat(index, []int{i})
		if isTable(f.Type) {
			out = append(out, keysOf(f.Type, prefix+name+".", at)...)
			continue
		}
		out = append(out, key{name: prefix + name, index: at, typ: f.Type})
	}
	return out
}

// isTable reports whether a field holds further settings, and not one value in words.
func isTable(t reflect.Type) bool {
	return t == reflect.TypeFor[session.Limits]() || t == reflect.TypeFor[session.Hooks]()
}

func keyNamed(name string) (key, bool) {
	for _, k := range keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// tableNamed reports whether there are settings in a table of that name.
func tableNamed(name string) bool {
	for _, k := range keys {
		if strings.HasPrefix(k.name, name+".") {
			return true
		}
	}
	return false
}

// field is where the settings have the value of a key.
func (k key) field(s *session.Settings) reflect.Value {
	return reflect.ValueOf(s).Elem().FieldByIndex(k.index)
}

// variable is the name of the key in the environment: PEMMICAN_HOOKS_TIMEOUT.
func (k key) variable() string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, r := range k.name {
		switch {
		case r == '.':
			b.WriteByte('_')
		case unicode.IsUpper(r):
			b.WriteByte('_')
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

const (
	prefix = "PEMMICAN_"
	// pathVariable names the settings file, and is no setting.
	pathVariable = prefix + "CONFIG"
)

// noSuchKey says that there is no such setting, and which one was meant.
func noSuchKey(name string) string {
	msg := fmt.Sprintf("there is no setting %q", name)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	if tableNamed(name) {
		return fmt.Sprintf("%q is a table of settings, as in [%s]", name, name)
	}
	if near := nearest(name, names, 1+len(name)/3); near != "" {
		msg += fmt.Sprintf(", did you mean %q?", near)
	}
	return msg
}

// nearest is the name that somebody who wrote s may have meant, "" for none. It differs in so many letters at most, and case
// and underscores do not count.
func nearest(s string, names []string, most int) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	best, least := "", most+1
	for _, name := range names {
		if d := distance(plain(s), plain(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be added, taken away or replaced to make one word of another.
func distance(a, b string) int {
	if len(a) > 100 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				next = min(next, diagonal)
			} else {
				next = min(next, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
