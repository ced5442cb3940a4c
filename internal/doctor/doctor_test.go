package doctor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string]bool{
		"0.84.0": true, "0.83.9": true, "pi 0.9.100": true, "v0.84.1": false, "0.84.1-beta.2": false, "1.6.0 (abc)": false, "10.0.0": false,
	} {
		v, ok := versionIn(text)
		if old := less(v, oldestPi); !ok || old != want {
			t.Errorf("%q: %v, too old %t", text, v, old)
		}
	}
	for _, text := range []string{"", "1.6", "command not found", "99999999999999999999.1.1"} {
		if v, ok := versionIn(text); ok {
			t.Errorf("%q: %v", text, v)
		}
	}
}

func TestIsOurs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"ours": `{"name":"pemmican-pi"}`, "other": `{"name":"pemmican"}`, "broken": `{`} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "package.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for source, want := range map[string]bool{
		"npm:pemmican-pi": true, "npm:pemmican-pi@1.2.3": true, "npm:pemmican-pile": false, "npm:@someone/pemmican-pi": false,
		"git:github.com/pemmican-dev/pemmican": true, "https://github.com/pemmican-dev/pemmican": true, "git:github.com/a/b": false,
		"./ours": true, "ours": true, "./other": false, "./broken": false, "./none": false, "": false, filepath.Join(dir, "ours"): true,
	} {
		if got := isOurs(source, dir); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
}
