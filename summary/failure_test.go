package summary

import (
	"strings"
	"testing"
)

// TestLooksFailed: a result without the flag of an error counts as failed by sure signs only.
func TestLooksFailed(t *testing.T) {
	many := strings.Repeat("a line of output\n", 2000)
	for _, test := range []struct {
		name, command, text string
		want                bool
	}{
		{"an exit code at the end", "", "x\n\nCommand exited with code 1\n", true},
		{"an exit code at the beginning", "./run", "Exit code 2\nnothing else", true},
		{"an exit code in a tag", "", "<status>done</status>\n\n<exit_code>1</exit_code>\n\n<output>\nx\n</output>", true},
		{"an exit code of zero", "go test ./...", "FAIL\tx\nexit status 0", false},
		{"an exit code that is told of", "", "first\n  Failed with exit code: 1\nThe tool said exit code 1.\nlast", false},
		{"an exit code in the middle", "", "a\nb\nexit status 1\nc", false},
		{"go test", "cd /w && go test ./... 2>&1 | tail -5", "ok  \ta\nFAIL\tb\t0.1s", true},
		{"a failing test far above", "go test -v ./...", "--- FAIL: TestA\n" + many + "ok  \ta", true},
		{"a failing test in the middle", "go test -v ./...", many + "--- FAIL: TestA\n" + many, false},
		{"tsc", "npm run check", "> tsc\nsrc/a.ts(3,1): error TS2307: Cannot find module", true},
		{"tsc, the other way", "npx tsc", "src/a.ts:3:1 - error TS2307: Cannot find module", true},
		{"cargo", "cargo build", "error[E0308]: mismatched types\n --> src/main.rs:3:5", true},
		{"gcc", "make", "cc -c x.c\nx.c:3:1: error: expected ';'", true},
		{"python", "python3 x.py", "Traceback (most recent call last):\n  File \"x.py\"\nValueError: x", true},
		{"npm", "npm install x", "npm ERR! code E404", true},
		{"git push", "git push origin main", "To x\nerror: failed to push some refs", true},
		{"a shell around it", `bash -lc "go test ./..."`, "FAIL\tb\t0.1s", true},
		{"a file that quotes one", "cat build.log", "FAIL\tb\t0.1s", false},
		{"a shell around a file", `bash -lc "cat build.log"`, "FAIL\tb\t0.1s", false},
		{"a diff", "git diff", "error: this is a line of a file", false},
		{"a search", "rg FAIL", "FAIL: x", false},
		{"one of two commands shows a file", "go vet ./... ; cat notes.txt", "FAIL\tb\t0.1s", false},
		{"the command is not known", "", "FAIL\tb\t0.1s\nerror: x", false},
		{"prose", "claude -p review", "The build failed with\nerror: x", false},
		{"code", "./gen", "failed = append(failed, sessionID)\n\treturn errors.New(\"failed\")", false},
		{"a list", "./gen", "- error: x\n* FAIL\tx\n> x.c:3:1: error: y", false},
		{"an error that a program logs", "./serve", "2026/01/01 request failed: error: x", false},
		{"a command that is not there", "cat x | foo", "bash: line 1: foo: command not found\n", true},
		{"a command that was not there once", "cat notes", "It said so:\nfoo: command not found", false},
		{"nothing", "make", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := looksFailed(test.text, test.command); got != test.want {
				t.Errorf("looksFailed = %v, want %v", got, test.want)
			}
		})
	}
}

// TestErrorText: a refusal is told with the person's words, never with half of the order that a runtime makes of it.
func TestErrorText(t *testing.T) {
	const order = "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing and wait for the user."
	for _, test := range []struct{ in, want string }{
		{order, "the person refused this call"},
		{order + " To tell you how to proceed, the user said:\nuse the other file", "the person refused this call, and said: use the other file"},
		{"<tool_use_error>File does not exist.</tool_use_error>", "File does not exist."},
		{"Exit code 1\nmain.go:3:1: expected 'package'", "Exit code 1\nmain.go:3:1: expected 'package'"},
	} {
		if got := errorText(test.in); got != test.want {
			t.Errorf("errorText(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}
