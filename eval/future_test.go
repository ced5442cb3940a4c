package eval

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
)

func count(t *pemmican.Transcript) []int {
	each, _ := sizes(t, token.Estimator{})
	return each
}

// TestNeeds has one identifier for each reason to count, and not to.
func TestNeeds(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddSystem("Always use sysTool.")
	tr.AddUser("Fix parseHeader in src/net/http.go, the limit is 4096, not 777.")
	tr.AddAssistant("I look at it.", pemmican.Call("1", "read", `{"path":"src/net/http.go"}`))
	tr.AddResult("1", "func parseHeader() { checkLength(maxLine) }\nfunc helperOne() {}\nfunc readAgain() {}")
	tr.AddAssistant("The fault is in checkLength.")
	tr.AddAssistant(strings.Repeat("Many words that fill the history up. ", 40))
	tr.AddUser("go on with tailThing")
	cut := len(tr.Messages)
	tr.AddAssistant("Now I change checkLength and then brandNew, with sysTool and tailThing.",
		pemmican.Call("2", "grep", `{"pattern":"helperOne","dir":"/home/dev/src/net/http.go"}`))
	tr.AddResult("2", "x.go: readAgain\n")
	tr.AddAssistant("readAgain is fine, checkLength too; 4096 stays.", pemmican.Call("3", "read", `{"path":"new.go","offset":777}`))

	e := newExam(tr, cut, count(tr))
	var got []string
	for _, n := range e.needs {
		got = append(got, fmt.Sprintf("%s %s from %s in %q", n.Kind, n.Text, n.Carrier, n.Line))
	}
	// A number that stands alone is not asked for.
	want := []string{
		// The newest occurrence says where it comes from.
		`symbol checkLength from assistant in "Now I change checkLength and then brandNew, with sysTool and tailThing."`,
		`symbol helperOne from result in "helperOne"`,
		// The whole path is new, the name of the file is not. It stands last in a call.
		`path http.go from arguments in "/home/dev/src/net/http.go"`,
		`value 4096 from person in "readAgain is fine, checkLength too; 4096 stays."`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecall has contexts of which it is known by hand what they still have.
func TestRecall(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("start")
	tr.AddAssistant("The retry limit of fetchPage is seven attempts with growing pauses.")
	tr.AddAssistant(strings.Repeat("Other words that fill the history up. ", 40))
	tr.AddUser("go on")
	cut := len(tr.Messages)
	tr.AddAssistant("I set the retry limit in fetchPage to nine attempts.")
	e := newExam(tr, cut, count(tr))
	if len(e.needs) != 1 || e.needs[0].Text != "fetchPage" {
		t.Fatalf("needs: %v", e.needs)
	}
	filler := strings.Repeat("word ", 100)
	for _, tt := range []struct {
		name, context string
		bag, rel      bool
	}{
		{"nothing", "start", false, false},
		{"the line", "The retry limit of fetchPage is seven attempts", true, true},
		{"the name alone", "fetchPage", true, false},
		{"a bag of names", "fetchPage otherThing moreThings", true, false},
		{"part of another name", "prefetchPage retry limit attempts", false, false},
		{"too far apart", "fetchPage " + filler + "retry limit attempts", true, false},
		{"the words first", "retry limit attempts at fetchPage", true, true},
		{"two occurrences, the second one whole", "fetchPage " + filler + "the retry limit attempts of fetchPage", true, true},
	} {
		c := &pemmican.Transcript{}
		c.AddUser(tt.context)
		got := e.recall(c)
		if got.bag[0] != tt.bag || got.rel[0] != tt.rel {
			t.Errorf("%s: bag %t, rel %t", tt.name, got.bag[0], got.rel[0])
		}
	}
	// A window does not cross messages.
	c := &pemmican.Transcript{}
	c.AddUser("retry limit attempts")
	c.AddUser("fetchPage")
	if got := e.recall(c); !got.bag[0] || got.rel[0] {
		t.Errorf("two messages: bag %t, rel %t", got.bag[0], got.rel[0])
	}
}

// TestWindows are 80 tokens long, and one begins every 40: what is 79 tokens apart is in one only if one begins there.
func TestWindows(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("start")
	tr.AddAssistant("alpha belongs to someName")
	tr.AddAssistant(strings.Repeat("Other words that fill the history up. ", 40))
	cut := len(tr.Messages)
	tr.AddAssistant("alpha someName")
	e := newExam(tr, cut, count(tr))
	for _, tt := range []struct {
		before, between int
		want            bool
	}{
		{0, 0, true}, {0, 78, true}, {0, 79, false}, {1, 77, true}, {1, 78, false}, {39, 39, true}, {39, 40, false}, {40, 78, true},
	} {
		c := &pemmican.Transcript{}
		c.AddUser(strings.Repeat("x ", tt.before) + "alpha " + strings.Repeat("x ", tt.between) + "someName")
		got := e.recall(c)
		// someName takes two tokens, of which the first decides.
		if got.rel[0] != tt.want {
			t.Errorf("%d before, %d between: %t", tt.before, tt.between, got.rel[0])
		}
	}
}

func TestIDF(t *testing.T) {
	l := newLexer()
	w := newIDF(l, []text{l.lex("one two\none One"), l.lex("three\n\nfour")})
	for word, want := range map[string]float64{"one": math.Log1p(4.0 / 2), "two": math.Log1p(4.0 / 1), "five": 0} {
		if got := w.of(l.foldOf[l.word(word, true)]); got != want {
			t.Errorf("%s weighs %g, want %g", word, got, want)
		}
	}
}

// TestFutureEnds asks for what is used in the 60th message, and not for what is used in the one behind it.
func TestFutureEnds(t *testing.T) {
	tr := &pemmican.Transcript{}
	tr.AddUser("start")
	tr.AddAssistant("someName and otherName")
	tr.AddAssistant(strings.Repeat("Other words that fill the history up. ", 40))
	cut := len(tr.Messages)
	for i := range futureMessages + 1 {
		switch i {
		case futureMessages - 1:
			tr.AddAssistant("someName")
		case futureMessages:
			tr.AddAssistant("otherName")
		default:
			tr.AddAssistant("on")
		}
	}
	e := newExam(tr, cut, count(tr))
	if len(e.needs) != 1 || e.needs[0].Text != "someName" {
		t.Errorf("needs: %v", e.needs)
	}
}
