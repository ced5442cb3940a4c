// Package summary writes the text that stands for what a compaction drops.
//
// [Mechanical] needs no model: it computes a [Ledger] from the transcript, in the room that it is given. [Model] asks a
// model for a narrative and puts that before the ledger: with the agent's own request and one instruction behind it, or
// with an excerpt. Its reply has to pass a gate, and is refused with a [Refusal] otherwise. A [Guard] keeps a model from
// being asked in vain; [Fallback] puts a second summariser behind a first. [Statistics] counts and quotes little, and
// [Capped] bounds another summariser.
//
// A ledger is its own serialisation: the Markdown that an agent reads is what ParseLedger reads back, so the next
// compaction merges the ledger instead of copying it. Whatever comes from a transcript stands in it behind a quote sign
// or as the rest of a list line, and so cannot be taken for a heading, a tag or a turn of the conversation.
package summary
