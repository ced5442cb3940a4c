package pitest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPaths(t *testing.T) {
	pi := Install(t, Latest)
	for _, path := range []string{pi.Node(), pi.Program(), filepath.Join(pi.Package(), "package.json")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
