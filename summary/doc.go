// Package summary writes the text that stands for what a compaction drops.
//
// [Mechanical] needs no model: it computes a [Ledger] from the transcript, in the room that it is given. [Statistics]
// counts and quotes little, [Capped] bounds another summariser, [Fallback] puts a second one behind a first.
//
// A ledger is its own serialisation: the Markdown that an agent reads is what [ParseLedger] reads back, so the next
// compaction merges the ledger instead of copying it. Whatever comes from a transcript stands in it behind a quote
// sign or as the rest of a list line, and so cannot be taken for a heading, a tag or a turn of the conversation.
package summary
