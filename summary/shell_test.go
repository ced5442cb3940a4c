package summary

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMoves: what plain commands rename and delete is listed so; what they might do is not.
func TestMoves(t *testing.T) {
	edited := func(path string) File { return File{Path: path, Op: Edited, Edits: 1} }
	read := func(path string) File { return File{Path: path, Op: Read} }
	renamed := func(f File, to string) File { f.Op, f.To = Renamed, to; return f }
	deleted := func(f File) File { f.Op = Deleted; f.Edits++; return f }
	both := []File{edited("/w/src/b.go"), read("/w/src/a.go")}
	for _, test := range []struct {
		command, result string
		want            []File
	}{
		{"mv src/a.go src/c.go", "", []File{renamed(read("/w/src/a.go"), "/w/src/c.go"), edited("/w/src/b.go")}},
		{"git mv src/b.go lib/b.go", "", []File{renamed(edited("/w/src/b.go"), "/w/lib/b.go"), read("/w/src/a.go")}},
		{"cd /w && mkdir -p lib && git mv src/a.go lib", "", []File{renamed(read("/w/src/a.go"), "/w/lib/a.go"), edited("/w/src/b.go")}},
		{"cd /w/src; mv -f a.go b.go ../lib/", "", []File{renamed(edited("/w/src/b.go"), "/w/lib/b.go"), renamed(read("/w/src/a.go"), "/w/lib/a.go")}},
		{"git mv /w/src /w/lib/src", "", []File{renamed(edited("/w/src/b.go"), "/w/lib/src/b.go"), renamed(read("/w/src/a.go"), "/w/lib/src/a.go")}},
		{"rm -f 'src/a.go' && go build ./...", "", []File{deleted(read("/w/src/a.go")), edited("/w/src/b.go")}},
		{"git rm -r /w/src", "rm 'src/a.go'\nrm 'src/b.go'", []File{deleted(edited("/w/src/b.go")), deleted(read("/w/src/a.go"))}},
		{"mv src/a.go src/x.go\nmv src/x.go src/y.go", "", []File{renamed(read("/w/src/a.go"), "/w/src/y.go"), edited("/w/src/b.go")}},
		{"mv src/a.go src/x.go && mv src/x.go src/a.go", "", []File{read("/w/src/a.go"), edited("/w/src/b.go")}},
		{"mv src/a.go src/x.go && rm src/x.go", "", []File{deleted(read("/w/src/a.go")), edited("/w/src/b.go")}},

		{"mv a.go c.go", "", both},                       // In which folder?
		{"mv src/*.go lib", "", both},                    // Which files?
		{"rm \"$X/src/a.go\"", "", both},                 // Whose?
		{"mv src lib", "", both},                         // Renamed, or into it?
		{"test -f x || rm src/a.go", "", both},           // If at all.
		{"(cd sub && rm src/a.go)", "", both},            //
		{"echo 'rm src/a.go'", "", both},                 //
		{"git rm --cached src/a.go", "", both},           // It stays.
		{"mv -n src/a.go src/c.go", "", both},            // Only if there is room.
		{"rm src/a.go | cat", "", both},                  //
		{"for f in x; do rm src/a.go; done", "", both},   //
		{"rm src/a.go src/z.go; true", "rm: z.go", both}, // It failed for one of them.
		{"cat <<EOF\nrm src/a.go\nEOF", "", both},        //
		{"rm -rf / ..", "", both},                        //
		{"cd $X && rm src/a.go", "", both},               //
	} {
		t.Run(test.command, func(t *testing.T) {
			r := script(t, "C 1 read {\"path\":\"/w/src/a.go\"}\nR 1 x\nC 2 edit {\"path\":\"/w/src/b.go\",\"newText\":\"x\"}\nR 2 ok")
			tr := r.Transcript
			add := script(t, fmt.Sprintf("C 3 bash {\"command\":%q}\nR 3 x", test.command)).Transcript
			add.Blocks[1].Text = test.result
			for i, m := range add.Messages {
				tr.Add(m.Role, add.Blocks[i])
			}
			r.Dropped, r.Kept = []int{0, 1, 2, 3, 4, 5}, make([]bool, 6)
			l := ledgerOf(t, r)
			if d := cmp.Diff(test.want, l.Files); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
			// The same again, which a call that was kept and is dropped later comes to.
			next := r
			next.Transcript, next.Previous, next.Compactions = add, l.Render(), 1
			next.Dropped, next.Kept = []int{0, 1}, make([]bool, 2)
			again := ledgerOf(t, next).Files
			if d := cmp.Diff(test.want, again); d != "" && test.command != "mv src/a.go src/x.go && mv src/x.go src/a.go" {
				t.Errorf("files the second time (-want +got):\n%s", d)
			}
		})
	}
}

// TestMovesBetweenNotations: a path of a command and one of a tool are the same file also if only one is absolute, and no
// guess is made if two are meant.
func TestMovesBetweenNotations(t *testing.T) {
	l := ledgerOf(t, script(t, "C 1 read {\"path\":\"src/a.go\"}\nR 1 x\nC 2 bash {\"command\":\"mv /w/src/a.go /w/src/c.go\"}\nR 2 "))
	if d := cmp.Diff([]File{{Path: "src/a.go", Op: Renamed, To: "src/c.go"}}, l.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	l = ledgerOf(t, script(t, "C 1 read {\"path\":\"/w/src/a.go\"}\nR 1 x\nC 2 read {\"path\":\"/v/src/a.go\"}\nR 2 x\nC 3 bash {\"command\":\"rm src/a.go\"}\nR 3 "))
	for _, f := range l.Files {
		if f.Op != Read {
			t.Errorf("two files are meant, and one was taken: %+v", f)
		}
	}
	// The lists at the end of a body do not make two files of one.
	r := script(t, "C 1 edit {\"path\":\"src/a.go\",\"newText\":\"x\"}\nR 1 x\nC 2 bash {\"command\":\"mv src/a.go src/c.go\"}\nR 2 ")
	first := summarise(t, Mechanical{FileLists: true}, r)
	next := script(t, "A Done.")
	next.Previous, next.Compactions = first, 1
	if got := ledgerOf(t, next).Files; len(got) != 1 || got[0].To != "src/c.go" {
		t.Errorf("merged files %+v in\n%s", got, first)
	}
	read, modified := Ledger{Files: []File{{Path: "a", Op: Renamed, To: "b"}, {Path: "c", Op: Renamed, To: "d", Edits: 1}}}.lists()
	if !slices.Equal(read, []string{"b"}) || !slices.Equal(modified, []string{"d"}) {
		t.Errorf("lists %v, %v: they shall name what is there", read, modified)
	}
}

func TestSimpleCommands(t *testing.T) {
	for _, test := range []struct {
		line string
		want []simpleCommand
	}{
		{`a 'b c' "d"e; f`, []simpleCommand{{words: []string{"a", "b c", "de"}}, {words: []string{"f"}}}},
		{"a | b && c", []simpleCommand{{words: []string{"a"}, pipes: true}, {words: []string{"b"}, piped: true}, {words: []string{"c"}}}},
		{"a 2>&1", []simpleCommand{{words: []string{"a", "21"}, odd: true}}},
		{`a ""`, []simpleCommand{{words: []string{"a", ""}}}},
		{"a &", nil},
		{"a 'b", nil},
		{`a\ b`, nil},
		{"if true; then a; fi", nil},
	} {
		got, ok := simpleCommands(test.line)
		if d := cmp.Diff(test.want, got, cmp.AllowUnexported(simpleCommand{})); d != "" || ok != (test.want != nil) {
			t.Errorf("%s: %v (-want +got):\n%s", test.line, ok, d)
		}
	}
}

func TestLooks(t *testing.T) {
	for command, want := range map[string][]string{
		"sed -n '1,200p' src/a.go":          {"src/a.go"},
		"cd /w && cat a.go b.go | head -50": {"/w/a.go", "/w/b.go"},
		"ls -la src/":                       {},
		"head -20 notes.txt":                {"notes.txt"},
		"cat a.go > b.go":                   nil,
		"sed -i s/a/b/ a.go":                nil,
		"cat a.go && make":                  nil,
		"":                                  nil,
	} {
		if got := looks(command); got != (want != nil) {
			t.Errorf("looks(%q) = %v", command, got)
		} else if got && !slices.Equal(lookedAt(command), want) {
			t.Errorf("lookedAt(%q) = %q, want %q", command, lookedAt(command), want)
		}
	}
}

func FuzzMoves(f *testing.F) {
	f.Add("cd /w && git mv 'a' b/ ; rm -r x", "ok")
	f.Add("mv \"a\" b | c & d", "")
	f.Fuzz(func(t *testing.T, command, result string) {
		r := script(t, "U x")
		c := newCollector(&r)
		c.touch("/w/src/a.go", Read, false, "")
		c.touch("src/b.go", Edited, false, "")
		c.moves(command, result)
		if looks(command) {
			lookedAt(command)
		}
		builds(command)
		for path, file := range c.files {
			if file.Path != path {
				t.Errorf("the file %q is listed as %q", file.Path, path)
			}
		}
	})
}
