// Package pemmican keeps an LLM agent within its context window by compacting its transcript: it makes it smaller
// without reordering it, breaking it, or believing a bad summary.
//
// A [Transcript] is what the agent's next request would send. Package format and those below it decode one from a
// provider's request body or from an agent's session file; an agent that holds structs builds one with Add and its
// shorthands. [Compact] returns a [Plan] that says for every block of it: keep, stub, or drop, and inserts at most one
// summary in one gap. A plan cannot say "move". [Plan.Result] is the transcript that it makes; a format applies it to
// the original bytes, and what it keeps comes out byte for byte.
//
// Start with [Compact] and [Options], whose zero value is useful. [Policy] says what is kept; package preset has those
// of four other systems. A [Counter] counts tokens (package token has one that caches and knows what pictures cost),
// and a [Summarizer] writes what stands for the dropped part (package summary has one that needs no model).
//
// Words that this package uses: a unit is the smallest thing that may be dropped, an assistant's step with its calls
// and their results, or one message; the head is what stays in front, the tail what stays at the end; an anchor is an
// older unit that stays for what it is.
package pemmican
