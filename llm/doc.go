// Package llm asks the models of providers, and understands what they answer.
//
// A [Client] sends a request body as it is, byte for byte, to one endpoint, and returns the [Reply] or an [Error] that
// says what kind of failure it was: that is what whoever compacts transcripts must know. [API.Body] writes a body of our
// own, and [API.Extend] puts one instruction behind an agent's own request without touching what stands before it, so
// that the provider's prompt cache pays for the rest.
//
// [Classify] and [ClassifyReply] are of use to anybody who talks to providers by other means. A [Catalogue] knows the
// windows and prices of models.
package llm
