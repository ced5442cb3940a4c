package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The plain agent dies of its window, and the same one with a session makes all its calls and still knows what it has read.
func TestAgent(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, []string{"-without"}); err == nil || !strings.Contains(err.Error(), "maximum context length is 32000") {
		t.Errorf("%v\n%s", err, &out)
	}
	if strings.Contains(out.String(), "calls of the tool: 200") {
		t.Errorf("it lived:\n%s", &out)
	}
	out.Reset()
	if err := run(&out, nil); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"calls of the tool: 200\n", "E-2217", "E-2321", "PEM-4711"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
	source, err := os.ReadFile("agent.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte("\n")); n >= 100 {
		t.Errorf("the whole agent has %d lines", n)
	}
}
