package llm

// LimitsOf returns what a provider takes in one request beside tokens: the bytes of the body, the pictures and documents
// in it, and its messages; 0 for a limit that is not known, or none. The provider is called as in [Catalogue.Find].
//
// There are few: most providers do not say, and tell by an error, which is then [TooManyBytes]. Anthropic refuses a body of
// more than 32 MB with status 413 and the type request_too_large (https://docs.anthropic.com/en/api/errors). Its other
// limits are on the size of one picture, which a smaller number of them does not mend.
func LimitsOf(provider string) (bytes, images, items int) {
	if canonicalProvider(provider) == "anthropic" {
		return 32_000_000, 0, 0
	}
	return 0, 0, 0
}
