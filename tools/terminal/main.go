// Terminal draws a terminal in which commands were run, as an SVG picture for the documents. It runs each argument in a
// shell and shows what it wrote, so a picture is made again by the command that stands beside it. With -text it draws a
// text file instead, in which a line that begins with "$ " is a command.
//
//	go run ./tools/terminal -o docs/agent.svg 'go run ./examples/agent -without' 'go run ./examples/agent'
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"
)

func main() {
	out := flag.String("o", "", "the file to write, otherwise the standard output")
	text := flag.String("text", "", "a text file to draw, instead of commands to run")
	width := flag.Int("width", 100, "columns of the terminal; longer lines are wrapped")
	flag.Parse()
	if err := run(*out, *text, *width, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(out, text string, width int, commands []string) error {
	var shown strings.Builder
	if text != "" {
		data, err := os.ReadFile(text)
		if err != nil {
			return err
		}
		shown.Write(data)
	}
	for i, c := range commands {
		cmd := exec.CommandContext(context.Background(), "sh", "-c", c) //nolint:gosec // running what it is given is the purpose
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		_ = cmd.Run() // one that fails is shown as it failed
		if i > 0 {
			shown.WriteString("\n")
		}
		fmt.Fprintf(&shown, "$ %s\n%s", c, output.String())
	}
	svg := draw(strings.Split(strings.TrimRight(shown.String(), "\n"), "\n"), width)
	if out == "" {
		_, err := os.Stdout.WriteString(svg)
		return err
	}
	next := out + ".new"
	if err := os.WriteFile(next, []byte(svg), 0o644); err != nil { //nolint:gosec // a picture in a document is for everybody
		return err
	}
	return os.Rename(next, out)
}

// The measures of a cell, in pixels, for a font of 14 pixels.
const (
	cellWidth  = 8.43
	cellHeight = 20
	margin     = 16
	barHeight  = 32
)

func draw(lines []string, width int) string {
	var rows []string
	for _, line := range lines {
		rows = append(rows, wrap(line, width)...)
	}
	w := int(float64(width)*cellWidth) + 2*margin
	h := barHeight + len(rows)*cellHeight + 2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<rect width="%d" height="%d" rx="8" fill="#1e2430"/>
<circle cx="20" cy="16" r="5" fill="#e06c6c"/><circle cx="38" cy="16" r="5" fill="#e0b86c"/><circle cx="56" cy="16" r="5" fill="#7bbf7b"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" xml:space="preserve">
`, w, h, w, h, w, h)
	for i, row := range rows {
		color := "#d8dee9"
		if strings.HasPrefix(row, "$ ") {
			color = "#8fd0a0"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", margin, barHeight+margin+i*cellHeight, color, html.EscapeString(row))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// wrap breaks a line at spaces so that none is longer than width runes; a longer word stays whole.
func wrap(line string, width int) []string {
	var out []string
	line = strings.ReplaceAll(line, "\t", "    ")
	for utf8.RuneCountInString(line) > width {
		runes := []rune(line)
		at := strings.LastIndex(string(runes[:width+1]), " ")
		if at <= 0 {
			break
		}
		out = append(out, line[:at])
		line = "  " + line[at+1:]
	}
	return append(out, line)
}
