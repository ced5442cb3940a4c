package summary

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pemmican-dev/pemmican"
)

func TestNamesIn(t *testing.T) {
	for _, row := range []struct {
		text string
		want []string
	}{
		{"Read src/core/agent-session.ts, ./main.go and /etc/hosts.", []string{"src/core/agent-session.ts", "main.go", "etc/hosts"}},
		{"a.go:12 and a.go:12:3; see line 123, lines 120-140.", []string{"a.go", "a.go"}},
		{"AgentSession.compact() and snake_case, __init__, `relay`, `git status`", []string{"AgentSession.compact", "snake_case", "relay"}},
		{"and/or, read/write, 24/7, 1/3, e.g. this, i.e. that, well-known, U.S. law, done.Then", nil},
		{"2026-01-07, 12:34:56, 01/07/2026, in 2024, 21.5%, 150%, ~885, 320 tests, 12 files, 1st", nil},
		{"port 8443, 38,000 and 38K, limit=4096, #116, 200ms, 5s", []string{"8443", "38,000", "38K", "4096", "116", "200ms"}},
		{"v1.2.3, 0.84.1, 10.0.0.1, 1.5, WP13, ENT-109, utf8", []string{"v1.2.3", "0.84.1", "10.0.0.1", "WP13", "ENT-109", "utf8"}},
		{"9f3c2ab41d7e, https://example.org/a/b?x=1, user@host, std::vector", []string{"9f3c2ab41d7e", "https://example.org/a/b"}},
		{"--dry-run and -v, `x-y`", []string{"dry-run", "x-y"}},
		{"`config.go`を編集、parseArgs関数、885行", []string{"config.go", "parseArgs"}},
		{"$7,136 and US$1,859, $12, $1 of $scope_1", []string{"7,136", "1,859", "$scope_1"}},
		{"1.23M, 2.5x, 1.5ms, 83.12%, x.m", []string{"x.m"}},
		{"src\\win\\main_test.go core/ HTTP JSON README", []string{"src\\win\\main_test.go", "core"}},
	} {
		var got []string
		for n := range namesIn(row.text) {
			if !n.loose {
				got = append(got, n.text)
			}
		}
		if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", row.text, diff)
		}
	}
}

// TestKnownNames: a name is known as a summary writes it.
func TestKnownNames(t *testing.T) {
	for _, row := range []struct{ source, name string }{
		{"/home/x/repo/src/core/agent-session.ts", "agent-session.ts"},
		{"import './core/agent-session'", "src/core/agent-session.ts"},
		{"src/core/agent-session.ts", "AgentSession"},
		{"const base_commit = 1", "baseCommit"},
		{"class AgentSession { compact() }", "`AgentSession.compact`"},
		{`{"text":"first\nimport parseArgs"}`, "parseArgs"},
		{"\x1b[31mErrTokenExpired\x1b[0m", "ErrTokenExpired"},
		{`C:\new\table_test.go`, "table_test.go"},
		{"one SessionStore", "SessionStores"},
		{"38000 tokens", "38K"},
		{"38214 bytes", "38K"},
		{"38K", "38,000"},
		{"38,214", "38214"},
		{"38_214", "38214"},
		{"1,250,000", "1250K"},
		{"1250000", "1M"},
		{"commit 9f3c2ab41d7e5b60aa719f3c2ab41d7e5b60aa71", "9f3c2ab"},
		{"limit: 4096", "4096"},
		{"ENT-109", "`ENT-109`"},
		{"see https://example.org/wiki/Main_Page#x", "https://example.org/wiki/Main_Page"},
		{"toolu_01AbCdEfGhIjKlMn", "toolu_01AbCdEfGhIjKlMn"},
		{"`relay` plugin", "`relay`"},
		{"関数parseArgs2を", "parseArgs2"},
		{"commit 9f3c2ab41d7e", "9f3c2ab"},
		{"commit 9f3c2ab4", "9f3c2ab"},
		{`{"amount": 7136}`, "$7,136"},
		{"costs $7,136 in all", "7136"},
		{"costs US$7,136 in all", "7,136"},
		{"v2.13.1", "2.13.1"},
		{"release 2.13.1", "v2.13.1"},
	} {
		s := &nameSet{}
		s.add(row.source, inDropped)
		n := 0
		for name := range namesIn(row.name) {
			n++
			if has, dropped := s.knows(name); !has || !dropped {
				t.Errorf("%q is not known in %q (%+v)", row.name, row.source, name)
			}
		}
		if n == 0 {
			t.Errorf("%q is no name", row.name)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	for _, row := range []struct{ source, name string }{
		{"src/core/agent-session.ts", "src/core/session-agent.ts"},
		{"package model in model.go", "gate_model.go"},
		{"9f3c2ab41d7e", "9F3C2AB41D7E"}, // a hash has its case
		{"commit 9f3c2ab41d7e5b60aa719f3c2ab41d7e5b60aa71", "9f3c2ac"},
		{"ENT-109 and PRT-118", "ENT-118"},
		{"limit: 4096", "4097"},
		{"38,214", "39K"},
		{"port 443", "8443"},
		{"const baseCommit", "headCommit"},
		{"v1.2.3", "v1.2.4"},
	} {
		s := &nameSet{}
		s.add(row.source, 0)
		n := 0
		for name := range namesIn(row.name) {
			n++
			if has, _ := s.knows(name); has {
				t.Errorf("%q is known in %q", row.name, row.source)
			}
		}
		if n == 0 {
			t.Errorf("%q is no name", row.name)
		}
	}
}

// TestInvented: a few are flagged, more are cut where they stand alone, and too many are refused.
func TestInvented(t *testing.T) {
	s := gated(gateSession())
	for _, row := range []struct {
		name, text string
		flagged    []string
		cut        int
		rest       string // "" for the text as it came
	}{
		{"none", goodSummary, nil, 0, ""},
		{"few", goodSummary + "\n- Ask on GitHub.", []string{"GitHub"}, 0, ""},
		{
			"a list item",
			"- Edited internal/auth/session_store.go since the login of the portal fails\n- Wrote ghost_module.py\n  which retries\n  - and drawTiles below\n- PRT-118 is open",
			[]string{"ghost_module.py", "drawTiles"},
			3, "- Edited internal/auth/session_store.go since the login of the portal fails\n- PRT-118 is open",
		},
		{
			"an item with something known below",
			"- In resetRound:\n  - RotateToken is called\n- In drawTiles and scoreTable:\n  - nothing\n- PRT-118 is open; 8443 too",
			[]string{"resetRound", "drawTiles", "scoreTable"},
			2, "- In resetRound:\n  - RotateToken is called\n- PRT-118 is open; 8443 too",
		},
		{
			"a row of a table, a paragraph, and a fence",
			"| file | what |\n|---|---|\n| session_store.go | edited |\n| ghost_one.go | edited |\n\nThe method drawTiles\nis new.\n\n```\nresetRound(scoreTable)\n```\n" +
				"RotateToken, defaultLifetime, PRT-118, cookie_config.yaml and maxSessions are known, and drawTiles is called there.",
			[]string{"ghost_one.go", "drawTiles", "resetRound", "scoreTable"},
			6,
			"| file | what |\n|---|---|\n| session_store.go | edited |\n\n\nRotateToken, defaultLifetime, PRT-118, cookie_config.yaml and maxSessions are known, and drawTiles is called there.",
		},
		{"one name, and unknown", "The person asked on GitHub about PRT-118.", []string{"GitHub"}, 0, ""},
		{"numbers alone", "- 7712 and 9914 and 1365\n- 2731 and 6402\n- PRT-118", []string{"7712", "9914", "1365", "2731", "6402"}, 0, ""},
		{
			"boxes that are not ticked, and what is below",
			"- [x] RotateToken\n- [ ] drawTiles, resetRound\n- Next:\n  - scoreTable\n- ghost_one.go and ghost_two.go are written\n- PRT-118, 8443, maxSessions, cookie_config.yaml",
			[]string{"drawTiles", "resetRound", "scoreTable", "ghost_one.go", "ghost_two.go"},
			1, "- [x] RotateToken\n- [ ] drawTiles, resetRound\n- Next:\n  - scoreTable\n- PRT-118, 8443, maxSessions, cookie_config.yaml",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := accept(ended(row.text), s)
			if err != nil {
				t.Fatal(err)
			}
			want := row.rest
			if want == "" {
				want = row.text
			}
			if diff := cmp.Diff(accepted{want, row.flagged, row.cut}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{
		"PRT-118: drawTiles, resetRound, scoreTable and PlayerBoard.",
		"## Plan\nPRT-118\n\n## Done\ndrawTiles, resetRound, scoreTable and PlayerBoard.",
		"PRT-118, RotateToken, maxSessions, 8443 and 4096.\n\n- " + strings.Repeat("drawTiles is called by resetRound, ", 9) + "scoreTable and PlayerBoard",
	} {
		if _, err := accept(ended(text), s); err == nil || err.(*Refusal).Reason != ReasonInvented {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSourceIsEverything: whatever the model could read counts.
func TestSourceIsEverything(t *testing.T) {
	tr := gateSession()
	tr.Tools = `[{"name":"deployTool","description":"for stage_seven"}]`
	tr.AddSystem("Use fmtStrict.")
	tr.Add(pemmican.User, pemmican.Block{Kind: pemmican.Media, Media: pemmican.MediaInfo{Name: "screen_shot.png"}})
	s := gated(tr)
	s.Request.Dropped = s.Request.Dropped[:4]
	s.Request.Previous = "The oldName was kept."
	s.Request.Original = "/sessions/abc123.jsonl"
	s.Prompt = "Focus: costModel."
	s.Request.Tools = pemmican.Tools{"lint_all": {}}
	text := "deployTool, stage_seven, fmtStrict, screen_shot.png, oldName, abc123.jsonl, costModel, lint_all, RotateToken, bash and TestRotateToken."
	got, err := accept(ended(text), s)
	if err != nil || len(got.Flagged) > 0 {
		t.Errorf("flagged %q, %v", got.Flagged, err)
	}
	var names []string
	for n := range namesIn(text) {
		names = append(names, n.text)
	}
	if len(names) != 10 || !slices.Contains(names, "stage_seven") {
		t.Errorf("names %q", names)
	}
}
