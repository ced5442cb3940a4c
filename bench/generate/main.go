// Command generate writes the sessions that the benchmarks use into a folder, for profilers and for other programs:
//
//	go run ./bench/generate DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pemmican-dev/pemmican/bench"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIR")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // the folder that the user named
		return err
	}
	write := func(name string, data []byte) error {
		path := filepath.Join(dir, name+".jsonl")
		if _, err := fmt.Fprintf(os.Stdout, "%9d bytes  %s\n", len(data), path); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o600) //nolint:gosec // the folder that the user named
	}
	for _, f := range []bench.Format{bench.PiV3, bench.PiV1, bench.ClaudeCode} {
		for _, tokens := range []int{50_000, 200_000, 1_000_000} {
			if err := write(fmt.Sprintf("%s-%dk", f, tokens/1000), bench.Session(f, tokens)); err != nil {
				return err
			}
		}
		if err := write(string(f)+"-long-line", bench.LongLine(f, 50_000_000)); err != nil {
			return err
		}
	}
	return nil
}
