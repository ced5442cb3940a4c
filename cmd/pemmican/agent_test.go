package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/config"
)

// Whoever switches the debug log while the program runs is told, each time, that the agent has to be started anew.
func TestDebugWhileItRuns(t *testing.T) {
	for _, atStart := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "pemmican.toml")
		a := &agentSettings{Loader: config.New(config.Source{Path: path, Environ: []string{}}), log: atStart, said: atStart}
		for i, debug := range []bool{atStart, !atStart, !atStart, atStart, !atStart} {
			text := map[bool]string{true: "debug = true\n", false: "debug = false\n"}[debug]
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			want := ""
			if i == 1 || i == 4 {
				want = "debug: the log " + map[bool]string{true: "begins", false: "ends"}[debug] + " when the agent is started anew"
			}
			s, notices := a.Load()
			got := ""
			for _, n := range notices {
				got += n.Text
			}
			if got != want || s.Debug != debug {
				t.Errorf("at the start %t, then step %d: %q, want %q", atStart, i, got, want)
			}
		}
	}
}
