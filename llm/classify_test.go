package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pemmican-dev/pemmican/llm"
	"pgregory.net/rapid"
)

// shape is one row of the table of overflow errors, as a provider has written it.
type shape struct {
	id     string
	status int
	// code and kind of it are members beside the message; members are more of them, as JSON.
	code, members string
	text          string

	kind                    llm.Kind
	limit, requested, input int
}

// shapes are the rows that have a text or a code. E04, E32, E36, E44 and E45 are replies.
var shapes = []shape{
	{id: "E01", status: 400, text: "prompt is too long: 213462 tokens > 200000 maximum", kind: llm.Overflow, limit: 200_000, requested: 213_462, input: 213_462},
	{id: "E02", status: 400, text: "input length and `max_tokens` exceed context limit: 179413 + 32768 > 200000, decrease input length or `max_tokens` and try again", kind: llm.OutputLimit, limit: 200_000, requested: 212_181, input: 179_413},
	{id: "E02 input too large", status: 400, text: "input length and `max_tokens` exceed context limit: 200001 + 32768 > 200000, decrease input length or `max_tokens` and try again", kind: llm.Overflow, limit: 200_000, requested: 232_769, input: 200_001},
	{id: "E03", status: 413, code: "request_too_large", text: "Request exceeds the maximum size", kind: llm.TooManyBytes},
	{id: "E05", status: 400, code: "context_length_exceeded", text: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", kind: llm.Overflow, limit: 8192, requested: 9000, input: 9000},
	{id: "E06", status: 400, code: "context_length_exceeded", text: "This model's maximum context length is 8192 tokens. However, you requested 9224 tokens (1224 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.", kind: llm.OutputLimit, limit: 8192, requested: 9224, input: 1224},
	{id: "E06 with tools", status: 400, text: "This model's maximum context length is 8192 tokens. However, you requested 9224 tokens (1000 in the messages, 224 in the functions, and 8000 in the completion). Please reduce the length of the messages, functions, or completion.", kind: llm.OutputLimit, limit: 8192, requested: 9224, input: 1224},
	{id: "E06 messages too large", status: 400, text: "This model's maximum context length is 8192 tokens. However, you requested 9224 tokens (9124 in the messages, 100 in the completion). Please reduce the length of the messages or completion.", kind: llm.Overflow, limit: 8192, requested: 9224, input: 9124},
	{id: "E06 older", status: 400, text: "This model's maximum context length is 4097 tokens, however you requested 4500 tokens (500 in your prompt; 4000 for the completion). Please reduce your prompt; or completion length.", kind: llm.OutputLimit, limit: 4097, requested: 4500, input: 500},
	{id: "E07", status: 400, text: "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.", kind: llm.Overflow, limit: 272_000, requested: 509_178, input: 509_178},
	{id: "E08", status: 400, code: "context_length_exceeded", text: "Your input exceeds the context window of this model. Please adjust your input and try again.", kind: llm.Overflow},
	{id: "E09", status: 400, text: "Your input exceeds the model's context window", kind: llm.Overflow},
	{id: "E09 this", status: 400, text: "Your input exceeds this model's context window", kind: llm.Overflow},
	{id: "E09 typographic", status: 400, text: "Your input exceeds the model’s context window", kind: llm.Overflow},
	{id: "E10", status: 400, code: "INVALID_ARGUMENT", text: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)", kind: llm.Overflow, limit: 1_048_575, requested: 1_196_265, input: 1_196_265},
	{id: "E11", status: 400, code: "ValidationException", text: "Input is too long for requested model.", kind: llm.Overflow},
	{id: "E12", status: 200, code: "validationException", text: "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.", kind: llm.Overflow},
	{id: "E13", status: 400, code: "validation_error", text: "prompt tokens (1416135) exceed model maximum (1050000) for openai.gpt-5.6-sol", kind: llm.Overflow, limit: 1_050_000, requested: 1_416_135, input: 1_416_135},
	{id: "E13 in a stream", status: 200, code: "invalid_prompt", text: "prompt tokens (1416135) exceed model maximum (1050000) for openai.gpt-5.6-sol", kind: llm.Overflow, limit: 1_050_000, requested: 1_416_135, input: 1_416_135},
	{id: "E14", status: 400, text: "too many total text bytes", kind: llm.Overflow},
	{id: "E14 tokens", status: 400, text: "Too many input tokens", kind: llm.Overflow},
	{id: "E14 length", status: 400, text: "Malformed input request: expected maxLength: 20000, actual: 30000, please reformat your input and try again.", kind: llm.Overflow},
	{id: "E15", status: 400, text: "This model's maximum context length is 131072 tokens", kind: llm.Overflow, limit: 131_072},
	{id: "E16", status: 400, text: "This model's maximum prompt length is 131072 but the request contains 537812 tokens", kind: llm.Overflow, limit: 131_072, requested: 537_812, input: 537_812},
	{id: "E16 code", status: 400, code: "input_too_large", text: "The request cannot be served.", kind: llm.Overflow},
	{id: "E17", status: 400, text: "Please reduce the length of the messages or completion", kind: llm.Overflow},
	{id: "E18", status: 413, code: "rate_limit_exceeded", text: "Request too large for model `m` in organization `org_42913` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Requested 10013, please reduce your message size and try again.", kind: llm.Overflow, limit: 8000, requested: 10_013},
	{id: "E18 used", status: 429, code: "rate_limit_exceeded", text: "Rate limit reached for model `m` on tokens per minute (TPM): Limit 12000, Used 8812, Requested 4701. Please try again in 7.565s.", kind: llm.Throttle},
	{id: "E18 used and too large", status: 429, code: "rate_limit_exceeded", text: "Rate limit reached for model `m` on tokens per minute (TPM): Limit 12000, Used 8812, Requested 14701.", kind: llm.Overflow, limit: 12_000, requested: 14_701},
	{id: "E19", status: 400, text: "This endpoint's maximum context length is 131072 tokens. However, you requested about 212745 tokens (122163 of text input, 58582 of tool input, 32000 in the output). Please reduce the length of either one, or use the context-compression plugin", kind: llm.Overflow, limit: 131_072, requested: 212_745, input: 180_745},
	{id: "E19 output", status: 400, text: "This endpoint's maximum context length is 131072 tokens. However, you requested about 142163 tokens (92163 of text input, 18000 of tool input, 32000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", kind: llm.OutputLimit, limit: 131_072, requested: 142_163, input: 110_163},
	{id: "E21", status: 400, text: "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.", kind: llm.Overflow, limit: 131_040, requested: 131_393, input: 131_393},
	{id: "E22", status: 400, text: "The input (516368 tokens) is longer than the model's context length (262144 tokens).", kind: llm.Overflow, limit: 262_144, requested: 516_368, input: 516_368},
	{id: "E22 no numbers", status: 400, text: "The input is longer than the model's context length.", kind: llm.Overflow},
	{id: "E23", status: 400, text: "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length", kind: llm.Overflow, limit: 131_072, requested: 140_000, input: 140_000},
	{id: "E24", status: 400, text: "This model's maximum context length is 65536 tokens. However, you requested 70100 tokens (66100 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.", kind: llm.Overflow, limit: 65_536, requested: 70_100, input: 66_100},
	{id: "E24 gateway", status: 400, text: "This model's maximum context length is 1048576 tokens. However, you requested 1068889 tokens (815916 in the messages, 252973 in the completion).", kind: llm.OutputLimit, limit: 1_048_576, requested: 1_068_889, input: 815_916},
	{id: "E25", status: 400, code: "BadRequestError", text: "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)", kind: llm.Overflow, limit: 262_144, requested: 262_145, input: 262_145},
	{id: "E25 output", status: 400, text: "This model's maximum context length is 262144 tokens. However, you requested 32000 output tokens and your prompt contains at least 240145 input tokens, for a total of at least 272145 tokens.", kind: llm.OutputLimit, limit: 262_144, requested: 272_145, input: 240_145},
	{id: "E25 max_tokens", status: 400, text: "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 5000 input tokens (32000 > 32768 - 5000).", kind: llm.OutputLimit, limit: 32_768, requested: 37_000, input: 5000},
	{id: "E25 decoder", status: 400, text: "The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.", kind: llm.Overflow, limit: 32_768, requested: 40_000, input: 40_000},
	{id: "E26", status: 503, text: "503 litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.BadRequestError: Requested token count exceeds the model's maximum context length of 256000 tokens. You requested a total of 256800 tokens: 224800 tokens from the input messages and 32000 tokens for the completion.", kind: llm.OutputLimit, limit: 256_000, requested: 256_800, input: 224_800},
	{id: "E27", status: 413, text: "5021: AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000)", kind: llm.OutputLimit, limit: 24_000, requested: 35_000},
	{id: "E28", status: 400, text: "Input length (265330) exceeds model's maximum context length (262144).", kind: llm.Overflow, limit: 262_144, requested: 265_330, input: 265_330},
	{id: "E29", status: 400, code: "exceed_context_size_error", members: `"n_prompt_tokens":5120,"n_ctx":4096`, text: "the request exceeds the available context size, try increasing it", kind: llm.Overflow, limit: 4096, requested: 5120, input: 5120},
	{id: "E30", status: 400, text: "request (32927 tokens) exceeds the available context size (32768 tokens)", kind: llm.Overflow, limit: 32_768, requested: 32_927, input: 32_927},
	{id: "E31", status: 200, text: "Context size has been exceeded.", kind: llm.Overflow},
	{id: "E33", status: 400, text: "Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough", kind: llm.Overflow, limit: 4096},
	{id: "E34", status: 400, text: "tokens to keep from the initial prompt is greater than the context length", kind: llm.Overflow},
	{id: "E35", status: 400, text: "prompt too long; exceeded max context length by 100918 tokens", kind: llm.Overflow},
	{id: "E37", status: 400, text: "Prompt has 256468 tokens, but the configured context size is 256000 tokens", kind: llm.Overflow, limit: 256_000, requested: 256_468, input: 256_468},
	{id: "E38", status: 400, text: "Prompt too long: 9000 tokens exceeds max context window of 8192 tokens", kind: llm.Overflow, limit: 8192, requested: 9000, input: 9000},
	{id: "E39", status: 400, code: "model_max_prompt_tokens_exceeded", text: "prompt token count of 391491 exceeds the limit of 128000", kind: llm.Overflow, limit: 128_000, requested: 391_491, input: 391_491},
	{id: "E40", status: 400, code: "invalid_request_body", kind: llm.Overflow},
	{id: "E40 with a reason", status: 400, code: "invalid_request_body", text: "Missing required parameter: 'input'.", kind: llm.Invalid},
	{id: "E41", status: 400, text: "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)", kind: llm.Overflow, limit: 262_144, requested: 269_030},
	{id: "E42", status: 400, text: "invalid params, context window exceeds limit", kind: llm.Overflow},
	{id: "E43", status: 400, code: "1261", text: "The request cannot be served.", kind: llm.Overflow},
	{id: "E43 text", status: 400, text: "Prompt too long", kind: llm.Overflow},
	{id: "E43 Chinese", status: 400, text: "Prompt 超长", kind: llm.Overflow},
	{id: "E43 window", status: 400, text: "The model has reached its context window limit.", kind: llm.Overflow},
	{id: "E46", status: 400, text: "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", kind: llm.Overflow, limit: 129_024},
	{id: "E47", status: 400, code: "InvalidParameter", text: "Total tokens of image and text exceed max message tokens.", kind: llm.Overflow},
	{id: "E48", status: 200, code: "336103", text: "Prompt tokens too long", kind: llm.Overflow},
	{id: "E49", status: 400, text: "超出了模型最大token限制。", kind: llm.Overflow},
	{id: "E50", status: 422, text: "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1474 `inputs` tokens and 660 `max_new_tokens`", kind: llm.OutputLimit, limit: 2048, requested: 2134, input: 1474},
	{id: "E50 inputs too large", status: 422, text: "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`", kind: llm.Overflow, limit: 2048, requested: 3534, input: 3474},
	{id: "E51", status: 422, text: "`inputs` must have less than 4096 tokens. Given: 5000", kind: llm.Overflow, limit: 4096, requested: 5000, input: 5000},
	{id: "E52", status: 400, text: "Requested input length 140000 exceeds maximum input length 131071", kind: llm.Overflow, limit: 131_071, requested: 140_000, input: 140_000},
	{id: "E53", status: 400, text: "400 status code (no body)", kind: llm.Overflow},
	{id: "E53 413", status: 413, text: "413 status code (no body)", kind: llm.Overflow},
	{id: "E53 sizes", status: 400, text: "Please reduce the length of the messages or completion. Current length is 140000 while limit is 131072", kind: llm.Overflow, limit: 131_072, requested: 140_000, input: 140_000},
	{id: "E54", status: 400, text: "total tokens exceeds the model's max of 4096", kind: llm.Overflow, limit: 4096},
	{id: "E55", status: 400, text: "The total length of all messages is too long.", kind: llm.Overflow},
	{id: "E56", status: 400, text: "tokens in request more than max tokens allowed", kind: llm.Overflow},
	{id: "E57", status: 403, text: "Context window exceeded: 306234 tokens exceeds the limit of 272000 tokens", kind: llm.Overflow, limit: 272_000, requested: 306_234, input: 306_234},
	{id: "E58", status: 400, code: "context_length_exceeded", text: "No.", kind: llm.Overflow},
	{id: "E58 overflow", status: 400, code: "context_overflow", text: "No.", kind: llm.Overflow},
	{id: "E58 limit", status: 400, text: "token limit exceeded", kind: llm.Overflow},
	{id: "E58 prompt", status: 400, code: "prompt_too_long", text: "No.", kind: llm.Overflow},

	{id: "N01", status: 429, code: "ThrottlingException", text: "Too many tokens, please wait before trying again.", kind: llm.Throttle},
	{id: "N01 no code", status: 429, text: "Too many tokens, please wait before trying again.", kind: llm.Throttle},
	{id: "N02", status: 429, text: "This request exceeds the limit of 30000 tokens per minute", kind: llm.Throttle},
	{id: "N02 day", status: 429, text: "You have reached your limit of 1000000 tokens per day (TPD).", kind: llm.Throttle},
	{id: "N02 requests", status: 429, text: "Limit of requests (RPM): Limit 3, Used 3, Requested 1.", kind: llm.Throttle},
	{id: "N03", status: 400, code: "string_above_max_length", text: "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 429 instead.", kind: llm.Invalid},
	{id: "N03 call", status: 400, text: "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.", kind: llm.Invalid},
	{id: "N04", status: 400, text: "max_tokens must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model", kind: llm.OutputLimit, limit: 8192},
	{id: "N04 Anthropic", status: 400, text: "max_tokens: 68000 > 64000, which is the maximum allowed number of output tokens for this model", kind: llm.OutputLimit, limit: 64_000, requested: 68_000},
	{id: "N04 OpenAI", status: 400, text: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", kind: llm.OutputLimit, limit: 16_384, requested: 100_000},
	{id: "N04 Responses", status: 400, code: "integer_above_max_value", text: "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 200000 instead.", kind: llm.OutputLimit, limit: 128_000, requested: 200_000},
	{id: "N04 Bedrock", status: 400, text: "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.", kind: llm.OutputLimit, limit: 4096},
	{id: "N04 brackets", status: 400, text: "max_tokens (8193) > 8192", kind: llm.OutputLimit, limit: 8192, requested: 8193},
	{id: "N04 too small", status: 400, text: "`max_tokens` must be greater than `thinking.budget_tokens`.", kind: llm.Invalid},
	{id: "N05", status: 400, text: "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", kind: llm.TooManyBytes},
	{id: "N05 one", status: 400, text: "At least one of the image dimensions exceed max allowed size: 8000 pixels", kind: llm.TooManyBytes},
	{id: "N05 bytes", status: 400, text: "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 6213452 bytes > 5242880 bytes", kind: llm.TooManyBytes},
	{id: "N06", status: 503, code: "service_tier_capacity_exceeded", text: "The system has no room.", kind: llm.Transient},
	{id: "N06 429", status: 429, code: "service_tier_capacity_exceeded", text: "The system has no room.", kind: llm.Throttle},
	{id: "N06 peak", status: 429, text: "The system is busy: the request exceeds the maximum usage size allowed during peak load", kind: llm.Throttle},
	{id: "N06 throttling", status: 200, text: "Throttling error: Too many tokens", kind: llm.Throttle},
	{id: "N06 unavailable", status: 200, text: "Service unavailable: token limit exceeded", kind: llm.Transient},
	{id: "N07", status: 401, code: "invalid_api_key", text: "Incorrect API key provided.", kind: llm.Auth},
	{id: "N07 token limit", status: 401, text: "token limit exceeded", kind: llm.Auth},
	{id: "N07 credits", status: 402, text: "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 1203.", kind: llm.Quota},
	{id: "N07 forbidden", status: 403, code: "permission_error", text: "Your API key does not have permission to use the specified resource.", kind: llm.Auth},
	{id: "N07 quota", status: 429, code: "insufficient_quota", text: "You exceeded your current quota, please check your plan and billing details.", kind: llm.Quota},
	{id: "N07 balance", status: 400, code: "invalid_request_error", text: "Your credit balance is too low to access the Anthropic API.", kind: llm.Quota},
	{id: "N08", status: 400, text: "Invalid type for 'input': expected a string, but got an array: [429, 413, 200000, 131072, 8192, 402, 401, 529, 503]", kind: llm.Invalid},
	{id: "N08 short", status: 400, text: "Invalid id 'req_429413': no such item", kind: llm.Invalid},
	{id: "N08 overflow", status: 400, text: "prompt is too long: 213462 tokens > 200000 maximum, request 429-413-402", kind: llm.Overflow, limit: 200_000, requested: 213_462, input: 213_462},
}

// object is the JSON of what is given, pairs of a name and a value; an empty text is left out.
func object(pairs ...any) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		value, _ := json.Marshal(pairs[i+1])
		if raw, ok := pairs[i+1].(json.RawMessage); ok {
			value = raw
		}
		fmt.Fprintf(&b, ",%q:%s", pairs[i], value)
	}
	if b.Len() == 0 {
		return "{}"
	}
	return "{" + b.String()[1:] + "}"
}

// carriers are the ways by which a row may reach us.
var carriers = []struct {
	name string
	body func(s shape) string
}{
	{"OpenAI", openAI},
	{"OpenAI, code as type", func(s shape) string {
		return object("error", json.RawMessage(with(s, object("message", s.text, "type", s.code, "param", nil))))
	}},
	{"Anthropic", func(s shape) string {
		return object("type", "error", "error", json.RawMessage(with(s, object("type", s.code, "message", s.text))), "request_id", "req_429")
	}},
	{"flat", func(s shape) string {
		return with(s, object("object", "error", "message", s.text, "type", s.code, "param", nil, "code", 400))
	}},
	{"capital", func(s shape) string { return with(s, object("__type", s.code, "Message", s.text)) }},
	{"error as text", func(s shape) string { return with(s, object("error", s.text, "code", s.code)) }},
	{"error_type", func(s shape) string { return with(s, object("error_type", s.code, "error_message", s.text)) }},
	{"detail", func(s shape) string { return with(s, object("detail", s.text, "code", s.code)) }},
	{"detail list", func(s shape) string {
		return object("detail", []any{json.RawMessage(with(s, object("loc", []string{"body", "429"}, "msg", s.text, "type", s.code)))})
	}},
	{"errors", func(s shape) string {
		return object("success", false, "errors", []any{json.RawMessage(with(s, object("message", s.text, "code", s.code)))})
	}},
	{"Google in an array", func(s shape) string {
		return "[" + object("error", json.RawMessage(with(s, object("code", 400, "message", s.text, "status", s.code)))) + "]"
	}},
	{"Google reason", func(s shape) string {
		return object("error", json.RawMessage(with(s, object("code", 400, "message", s.text, "details", []any{map[string]string{"@type": "x", "reason": s.code}}))))
	}},
	{"Azure innererror", func(s shape) string {
		return object("error", json.RawMessage(with(s, object("message", s.text, "innererror", map[string]string{"code": s.code}))))
	}},
	{"response.failed", func(s shape) string {
		return object("type", "response.failed", "response", json.RawMessage(object("id", "resp_429", "status", "failed", "error", json.RawMessage(with(s, object("code", s.code, "message", s.text))), "instructions", "rate limit")))
	}},
	{"event stream", func(s shape) string {
		return "event: error\ndata: " + object("type", "error", "error", json.RawMessage(with(s, object("code", s.code, "message", s.text)))) + "\n\n"
	}},
	{"event stream after others", func(s shape) string {
		return ": ping\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"rate limit\"}}]}\r\n\r\ndata: " + openAI(s) + "\r\n\r\ndata: [DONE]\r\n\r\n"
	}},
	{"metadata.raw", func(s shape) string {
		return object("error", map[string]any{"message": "Provider returned error", "code": 400, "metadata": map[string]any{"raw": openAI(s), "provider_name": "x"}})
	}},
	{"raw in raw", func(s shape) string {
		inner := object("error", map[string]any{"message": "Provider returned error", "metadata": map[string]any{"raw": openAI(s)}})
		return object("error", map[string]any{"message": inner, "code": 400})
	}},
	{"behind words", func(s shape) string { return "Error: upstream said " + openAI(s) }},
	{"truncated", func(s shape) string { return strings.TrimRight(openAI(s), "}") }},
}

func openAI(s shape) string {
	return object("error", json.RawMessage(with(s, object("message", s.text, "type", "invalid_request_error", "param", nil, "code", s.code))))
}

// with adds the members of the row to an object.
func with(s shape, object string) string {
	if s.members == "" {
		return object
	}
	return strings.TrimSuffix(object, "}") + "," + s.members + "}"
}

// fits reports whether what was said of an answer is what the row wants.
func (s shape) fits(e *llm.Error) bool {
	return e.Kind == s.kind && e.Limit == s.limit && e.Requested == s.requested && e.Input == s.input && e.Status == s.status
}

// Rows E01-E58, N01-N08, SOV-14 and ERR-04.
func TestShapes(t *testing.T) {
	seen := map[string]bool{"E04": true, "E20": true, "E32": true, "E36": true, "E44": true, "E45": true} // tests of their own
	for _, s := range shapes {
		seen[s.id[:3]] = true
		t.Run(s.id, func(t *testing.T) {
			for _, c := range carriers {
				body := c.body(s)
				if c.name == "truncated" && s.members != "" || c.name == "behind words" && s.text == "" {
					continue // its numbers are in the part that is missing; it is known by saying nothing
				}
				got := llm.Classify(s.status, nil, []byte(body))
				if !s.fits(got) {
					t.Errorf("%s: got %s %d/%d/%d, want %s %d/%d/%d\n%s", c.name, got.Kind, got.Limit, got.Requested, got.Input, s.kind, s.limit, s.requested, s.input, body)
				}
				if s.text != "" && !strings.HasPrefix(got.Message, strings.Join(strings.Fields(s.text), " ")[:min(len(s.text), 20)]) &&
					c.name != "behind words" {
					t.Errorf("%s: message %q", c.name, got.Message)
				}
			}
			if s.code == "" {
				if got := llm.Classify(s.status, nil, []byte(s.text)); !s.fits(got) {
					t.Errorf("plain: got %+v", got)
				}
			}
		})
	}
	for i := 1; i <= 58; i++ {
		if id := fmt.Sprintf("E%02d", i); !seen[id] {
			t.Errorf("row %s has no test", id)
		}
	}
	for i := 1; i <= 8; i++ {
		if id := fmt.Sprintf("N%02d", i); !seen[id] {
			t.Errorf("row %s has no test", id)
		}
	}
}

// Row E20: the error of a wrapper is the one inside.
func TestE20_Wrapper(t *testing.T) {
	inner := `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`
	for name, body := range map[string]string{
		"raw":     object("error", map[string]any{"message": "Provider returned error", "code": 400, "metadata": map[string]any{"raw": inner}}),
		"message": object("error", map[string]any{"message": inner, "code": 400}),
		"behind":  object("error", map[string]any{"message": "Provider returned error: " + inner, "code": 400}),
		"twice":   object("error", map[string]any{"message": object("error", map[string]any{"message": inner})}),
		"text":    object("error", map[string]any{"message": "Provider returned error", "metadata": map[string]any{"raw": "prompt is too long: 213462 tokens > 200000 maximum"}}),
		"events":  object("error", map[string]any{"message": "Provider returned error", "metadata": map[string]any{"raw": "event: error\ndata: " + inner + "\n\n"}}),
	} {
		got := llm.Classify(200, nil, []byte(body))
		if got.Kind != llm.Overflow || got.Limit != 200_000 || !strings.Contains(got.Message, "213462") {
			t.Errorf("%s: got %+v", name, got)
		}
		if name != "text" && got.Code != "invalid_request_error" {
			t.Errorf("%s: code %q", name, got.Code)
		}
	}
}

// Rows of class ERRSTR that a status, a header or a body of their own decides. Those that are a wording and nothing else are
// rows of TestShapes as well.
func TestErrstr(t *testing.T) {
	for _, test := range []struct {
		id     string
		status int
		body   string
		kind   llm.Kind
		limit  int
	}{
		{"ERR-01", 400, `{"error":{"message":"context_length_exceeded"}}`, llm.Overflow, 0},
		{"ERR-02 Bedrock", 400, `ValidationException: Input is too long for requested model.`, llm.Overflow, 0},
		{"ERR-02 Ollama", 400, `{"error":"prompt too long; exceeded max context length by 9 tokens"}`, llm.Overflow, 0},
		{"ERR-02 Cohere", 400, `{"message":"total tokens exceeds the model's max of 4096"}`, llm.Overflow, 4096},
		{"ERR-05", 400, `{"error":{"code":"","message":"Input tokens exceed the configured limit of 272000 tokens."}}`, llm.Overflow, 272_000},
		{"ERR-07", 400, `{"object":"error","message":"The input (516368 tokens) is longer than the model's context length (262144 tokens).","code":400}`, llm.Overflow, 262_144},
		{"ERR-08 Mistral", 400, `{"message":"Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length"}`, llm.Overflow, 131_072},
		{"ERR-08 Perplexity", 400, `{"error":{"message":"The total length of all messages is too long."}}`, llm.Overflow, 0},
		{"ERR-10 overflow", 429, `{"error":{"message":"Your input exceeds the model's context window"}}`, llm.Overflow, 0},
		{"ERR-10 rate", 429, `{"error":{"message":"This request exceeds the limit of 30000 tokens per minute"}}`, llm.Throttle, 0},
		{"ERR-11", 400, `{"message":"ThrottlingException: Too many tokens, please wait"}`, llm.Throttle, 0},
		{"ERR-13", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 8000, Requested 10013","code":"rate_limit_exceeded"}}`, llm.Overflow, 8000},
		{"ERR-14", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.TooManyBytes, 0},
		{"ERR-14 page", 413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><center><h1>413 Request Entity Too Large</h1></center><hr><center>nginx</center></body></html>", llm.TooManyBytes, 0},
		{"ERR-16", 400, `{"error_type":"context_length_exceeded","error_message":"The prompt is far too long for us"}`, llm.Overflow, 0},
		{"ERR-17", 200, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\nevent: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"\"}}}\n\n", llm.Overflow, 0},
		{"ERR-19", 403, `{"message":"Context window exceeded: 306234 tokens exceeds the limit of 272000 tokens"}`, llm.Overflow, 272_000},
		{"ERR-22", 400, `{"error":{"message":"Invalid 'input': expected text, got [1, 429, 413, 529, 7, 8, 9, 10, 11, 12]"}}`, llm.Invalid, 0},
		{"ERR-22 overflow", 400, `{"error":{"message":"The input is longer than the model's context length: [429, 413, 529, 7, 8, 9, 10, 11, 12"}}`, llm.Overflow, 0},
		{"ERR-23", 400, `{"error":{"message":"This model's maximum context length is 1048576 tokens. However, you requested 1068889 tokens (815916 in the messages, 252973 in the completion)."}}`, llm.OutputLimit, 1_048_576},
		{"SOV-14", 400, `{"error":{"message":"max_tokens must be less than 64,000: 64,000 + 4,000 = 68,000 > 64,000"}}`, llm.OutputLimit, 64_000},
		{"T12", 400, `{"error":{"message":"Throttling error: Too many tokens"}}`, llm.Throttle, 0},
	} {
		if got := llm.Classify(test.status, nil, []byte(test.body)); got.Kind != test.kind || got.Limit != test.limit {
			t.Errorf("%s: got %+v", test.id, got)
		}
	}
}

// Appendix C 9: what looks alike and is not.
func TestQuotaTwins(t *testing.T) {
	tooLarge := llm.Classify(413, nil, []byte(`{"error":{"message":"Request too large for model m on tokens per minute (TPM): Limit 8000, Requested 10013, please reduce your message size","type":"tokens","code":"rate_limit_exceeded"}}`))
	if tooLarge.Kind != llm.Overflow || tooLarge.Limit != 8000 || tooLarge.Requested != 10_013 || tooLarge.Code != "rate_limit_exceeded" {
		t.Errorf("larger than the budget: got %+v", tooLarge)
	}
	used := llm.Classify(429, nil, []byte(`{"error":{"message":"Rate limit reached on tokens per minute (TPM): Limit 12000, Used 8812, Requested 4701. Please try again in 7.565s.","code":"rate_limit_exceeded"}}`))
	if used.Kind != llm.Throttle || used.Limit != 0 || used.RetryAfter != 7565*time.Millisecond {
		t.Errorf("budget used up: got %+v", used)
	}
	if got := llm.Classify(429, nil, []byte(`{"message":"Too many tokens, please wait before trying again."}`)); got.Kind != llm.Throttle {
		t.Errorf("N01: got %+v", got)
	}
}

func TestRest(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		kind   llm.Kind
		code   string
	}{
		{"empty 400", 400, "", llm.Invalid, ""},
		{"empty 413", 413, "", llm.TooManyBytes, ""},
		{"empty 401", 401, "", llm.Auth, ""},
		{"empty 402", 402, "", llm.Quota, ""},
		{"empty 403", 403, "", llm.Auth, ""},
		{"empty 404", 404, "", llm.Invalid, ""},
		{"empty 408", 408, "", llm.Transient, ""},
		{"empty 409", 409, "", llm.Transient, ""},
		{"empty 422", 422, " \r\n", llm.Invalid, ""},
		{"empty 429", 429, "", llm.Throttle, ""},
		{"empty 500", 500, "", llm.Transient, ""},
		{"empty 501", 501, "", llm.Invalid, ""},
		{"empty 503", 503, "", llm.Transient, ""},
		{"empty 504", 504, "", llm.Transient, ""},
		{"empty 529", 529, "", llm.Transient, ""},
		{"no answer", 0, "", llm.Transient, ""},
		{"a redirect", 302, "", llm.Invalid, ""},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Transient, "overloaded_error"},
		{"overloaded in a stream", 200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Transient, "overloaded_error"},
		{"engine overloaded", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, llm.Throttle, "engine_overloaded_error"},
		{"api_error in a stream", 200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, llm.Transient, "api_error"},
		{"rate limit in a stream", 200, `{"type":"error","error":{"type":"rate_limit_error","message":"Number of requests"}}`, llm.Throttle, "rate_limit_error"},
		{"status in a stream", 200, `{"error":{"message":"Provider returned error","code":429}}`, llm.Throttle, ""},
		{"status as auth in a stream", 200, `{"error":{"message":"Who is it?","code":401}}`, llm.Auth, ""},
		{"unknown in a stream", 200, `{"error":{"message":"It broke"}}`, llm.Transient, ""},
		{"invalid in a stream", 200, `{"error":{"message":"tools: unknown field","type":"invalid_request_error"}}`, llm.Invalid, "invalid_request_error"},
		{"a status in a text counts for nothing", 200, `{"error":{"message":"error 429 or 401"}}`, llm.Transient, ""},
		{"the status of HTTP is not overruled", 400, `{"error":{"message":"It broke","code":503}}`, llm.Invalid, ""},
		{"Google key", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.Auth, "API_KEY_INVALID"},
		{"Google unavailable", 503, `{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}`, llm.Transient, "UNAVAILABLE"},
		{"DeepSeek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, llm.Quota, "unknown_error"},
		{"Moonshot balance", 429, `{"error":{"message":"Your account is suspended due to insufficient balance","type":"exceeded_current_quota_error"}}`, llm.Quota, "exceeded_current_quota_error"},
		{"MiniMax balance", 200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, llm.Quota, "1008"},
		{"content policy", 400, `{"error":{"code":"content_policy_violation","message":"Your request was rejected as a result of our safety system."}}`, llm.Filtered, "content_policy_violation"},
		{"Azure filter", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Filtered, "ResponsibleAIPolicyViolation"},
		{"moderation", 403, `{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged for violence"}}`, llm.Filtered, ""},
		{"incomplete by a filter", 200, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`, llm.Filtered, "content_filter"},
		{"incomplete by the window", 200, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"model_context_window_exceeded"}}}`, llm.Overflow, "model_context_window_exceeded"},
		{"flagged prompt", 400, `{"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy."}}`, llm.Filtered, "invalid_prompt"},
		{"DashScope filter", 400, `{"code":"data_inspection_failed","message":"Output data may contain inappropriate content."}`, llm.Filtered, "data_inspection_failed"},
		{"Gemini safety", 200, `{"error":{"status":"SAFETY","message":"blocked"}}`, llm.Filtered, "SAFETY"},
		{"Bedrock event", 200, `{"throttlingException":{"message":"Slow down"}}`, llm.Throttle, "throttlingException"},
		{"Bedrock failure", 424, `{"message":"The model failed"}`, llm.Transient, ""},
		{"model not found", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, llm.Invalid, "not_found_error"},
		{"unknown field", 400, `{"error":{"message":"tools.0: unknown field","type":"invalid_request_error"}}`, llm.Invalid, "invalid_request_error"},
		{"the window as a topic", 400, `{"error":{"message":"context_management: unknown strategy"}}`, llm.Invalid, ""},
		{"GitHub models", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, llm.Overflow, "tokens_limit_reached"},
		{"Gemini payload", 400, `{"error":{"message":"Request payload size exceeds the limit: 20971520 bytes."}}`, llm.TooManyBytes, ""},
		{"page", 502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", llm.Transient, ""},
		{"words in an address", 400, `{"error":{"message":"No such tool, see https://example.com/rate-limit/too-many-requests"}}`, llm.Invalid, ""},
		{"words in an echo", 400, `{"error":{"message":"Unknown field","type":"invalid_request_error"},"input":"rate limit, prompt is too long"}`, llm.Invalid, "invalid_request_error"},
		{"images that do not fit the window", 400, `{"error":{"message":"The number of tokens in the images exceeds the context window"}}`, llm.Overflow, ""},
		{"a vague text", 429, `{"error":{"message":"token limit exceeded"}}`, llm.Throttle, ""},
		{"a vague text with a clear code", 429, `{"error":{"message":"token limit exceeded","code":"context_length_exceeded"}}`, llm.Overflow, "context_length_exceeded"},
		{"busy at the front", 429, "Service unavailable: token limit exceeded", llm.Throttle, ""},
		{"the end of a long stream", 200, strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"rate limit\"}}]}\n\n", 5000) + `data: {"error":{"message":"Context size has been exceeded."}}`, llm.Overflow, ""},
		{"text in a stream", 200, "event: error\ndata: prompt is too long\n\n", llm.Overflow, ""},
		{"the start of a long text", 400, "prompt is too long: " + strings.Repeat("word ", 10_000), llm.Overflow, ""},
		{"the end of a long text", 400, strings.Repeat("word ", 10_000) + "prompt is too long", llm.Overflow, ""},
		{"the middle of a long text", 400, strings.Repeat("word ", 10_000) + "prompt is too long" + strings.Repeat("word ", 10_000), llm.Invalid, ""},
		{"many errors", 400, `{"errors":[` + strings.Repeat(`{"message":"no"},`, 100) + `{"message":"prompt is too long"}]}`, llm.Invalid, ""},
		{"many members", 400, `{` + strings.Repeat(`"message":"no",`, 100) + `"error":"prompt is too long"}`, llm.Invalid, ""},
		{"deep", 400, strings.Repeat(`{"error":`, 100) + `"prompt is too long"` + strings.Repeat(`}`, 100), llm.Overflow, ""},
		{"sizes that are none", 400, `{"error":{"type":"exceed_context_size_error","n_ctx":-5,"n_prompt_tokens":99999999999}}`, llm.Overflow, "exceed_context_size_error"},
		{"broken off in an escape", 400, `{"error":{"message":"prompt is too long \u00`, llm.Overflow, ""},
		{"several texts", 400, `{"message":"Bad Request","errors":[{"message":"a"},{"message":"prompt is too long"}]}`, llm.Overflow, ""},
	} {
		got := llm.Classify(test.status, nil, []byte(test.body))
		if got.Kind != test.kind || got.Code != test.code || got.Status != test.status {
			t.Errorf("%s: got %s, code %q: %+v", test.name, got.Kind, got.Code, got)
		}
	}
	header := http.Header{"X-Amzn-Errortype": {"ThrottlingException:http://internal.amazon.com/"}}
	if got := llm.Classify(400, header, []byte(`{"message":null}`)); got.Kind != llm.Throttle || got.Code != "ThrottlingException" {
		t.Errorf("error of a header: got %+v", got)
	}
}

// A code is found however it is written.
func TestCodesAnyHow(t *testing.T) {
	for code, kind := range map[string]llm.Kind{
		"context_length_exceeded": llm.Overflow, "context_overflow": llm.Overflow, "prompt_too_long": llm.Overflow, "token_limit_exceeded": llm.Overflow,
		"exceed_context_size_error": llm.Overflow, "model_context_window_exceeded": llm.Overflow, "request_too_large": llm.TooManyBytes,
		"rate_limit_exceeded": llm.Throttle, "insufficient_quota": llm.Quota, "content_filter": llm.Filtered, "overloaded_error": llm.Transient,
		"string_above_max_length": llm.Invalid,
	} {
		words := strings.Split(code, "_")
		camel := ""
		for _, w := range words {
			camel += strings.ToUpper(w[:1]) + w[1:]
		}
		for _, spelling := range []string{code, strings.ToUpper(code), strings.Join(words, "-"), strings.Join(words, " "), camel} {
			for _, body := range []string{
				object("error", map[string]any{"code": spelling}), object("error", map[string]any{"type": spelling, "message": "No."}),
				object("error", map[string]any{"message": spelling}), object("error", spelling), spelling,
			} {
				if got := llm.Classify(400, nil, []byte(body)); got.Kind != kind {
					t.Errorf("%s: got %s, want %s", body, got.Kind, kind)
				}
			}
		}
	}
}

// Numbers are found however they are written.
func TestNumbersAnyHow(t *testing.T) {
	for _, test := range []struct {
		text                    string
		limit, requested, input int
	}{
		{"prompt is too long: 213,462 tokens > 200,000 maximum", 200_000, 213_462, 213_462},
		{"prompt is too long: 213_462 tokens > 200_000 maximum", 200_000, 213_462, 213_462},
		{"prompt is too long: 213.4k tokens > 200K maximum", 200_000, 213_400, 213_400},
		{"This model's maximum context length is 1,048,576 tokens.", 1_048_576, 0, 0},
		{"This model's maximum context length is 128k tokens.", 128_000, 0, 0},
		{"This model's maximum context length is 99999999999999999999 tokens.", 0, 0, 0},
		{"Range of input length should be [1,129024]", 129_024, 0, 0},
	} {
		if got := llm.Classify(400, nil, []byte(test.text)); got.Kind != llm.Overflow || got.Limit != test.limit || got.Requested != test.requested || got.Input != test.input {
			t.Errorf("%s: got %+v", test.text, got)
		}
	}
}

func TestMessage(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"error":{"message":"a\nb\t\u0000c\u202ed"}}`, "a b cd"},
		{`{"error":{"message":"Provider returned error","metadata":{"raw":"It broke"}}}`, "It broke"},
		{`{"message":"Bad Request"}`, "Bad Request"},
		{`{"unknown":1}`, `{"unknown":1}`},
		{"plain\r\ntext", "plain text"},
		{`litellm.BadRequestError: OpenAIException - {"error":{"message":"prompt is too long"}}. Fallbacks=None`, "prompt is too long"},
		{"bad \xff bytes", "bad \uFFFD bytes"},
		{`{"error":{"message":"got [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"}}`, "got […]"},
		{"<html><head><title>502 Bad&nbsp;Gateway</title><style>p{}</style></head><body>x</body></html>", "502 Bad Gateway"},
		{strings.Repeat("é", 500), strings.Repeat("é", 500)},
		{strings.Repeat("é", 501), strings.Repeat("é", 499) + "…"},
		{strings.Repeat("x", 498) + "👨‍👩‍👧‍👦yyy", strings.Repeat("x", 498) + "…"},
		{"", ""},
	} {
		if got := llm.Classify(400, nil, []byte(test.body)).Message; got != test.want {
			t.Errorf("%q: got %q, want %q", test.body, got, test.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	for _, test := range []struct {
		name   string
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"none", nil, "", 0},
		{"seconds", map[string]string{"Retry-After": "30"}, "", 30 * time.Second},
		{"parts of seconds", map[string]string{"Retry-After": "1.5"}, "", 1500 * time.Millisecond},
		{"milliseconds first", map[string]string{"Retry-After": "2", "Retry-After-Ms": "1250"}, "", 1250 * time.Millisecond},
		{"a date", map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:05:35 GMT", "Date": date}, "", 90 * time.Second},
		{"a past date", map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:03:35 GMT", "Date": date}, "", 0},
		{"a date without a date", map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:05:35 GMT"}, "", 0},
		{"nonsense", map[string]string{"Retry-After": "soon"}, "", 0},
		{"negative", map[string]string{"Retry-After": "-5"}, "", 0},
		{"not a number", map[string]string{"Retry-After": "NaN"}, "", 0},
		{"a point in time", map[string]string{"Retry-After": "1767225600000"}, "", 0},
		{"reset", map[string]string{"X-Ratelimit-Reset-Tokens": "6m0s"}, "", 6 * time.Minute},
		{"first reset", map[string]string{"X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Reset-Requests": "20ms"}, "", 20 * time.Millisecond},
		{"reset of what is used up", map[string]string{
			"X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Requests": "20ms", "X-Ratelimit-Remaining-Requests": "7",
		}, "", 6 * time.Minute},
		{"reset in seconds", map[string]string{"X-Ratelimit-Reset": "12"}, "", 12 * time.Second},
		{"reset at a point in time", map[string]string{"X-Ratelimit-Reset": "1767225600000"}, "", 0},
		{"reset of Anthropic", map[string]string{"Anthropic-Ratelimit-Input-Tokens-Reset": "2006-01-02T15:04:45Z", "Date": date}, "", 40 * time.Second},
		{"header before reset", map[string]string{"Retry-After": "3", "X-Ratelimit-Reset-Tokens": "6m0s"}, "", 3 * time.Second},
		{"text", nil, `{"error":{"message":"Please try again in 1m30.5s. Visit us."}}`, 90*time.Second + 500*time.Millisecond},
		{"words", nil, `{"error":{"message":"Please try again in 2 minutes."}}`, 2 * time.Minute},
		{"Google", nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, 34 * time.Second},
		{"seconds of a member", nil, `{"error":{"type":"rate_limit_error","resets_in_seconds":90}}`, 90 * time.Second},
	} {
		h := http.Header{}
		for k, v := range test.header {
			h.Set(k, v)
		}
		if got := llm.Classify(429, h, []byte(test.body)); got.Kind != llm.Throttle || got.RetryAfter != test.want {
			t.Errorf("%s: got %s, %s; want %s", test.name, got.Kind, got.RetryAfter, test.want)
		}
	}
	// Limits that stand on every answer say nothing of another failure.
	h := http.Header{"X-Ratelimit-Reset-Tokens": {"6m0s"}}
	if got := llm.Classify(400, h, []byte("prompt is too long")); got.RetryAfter != 0 {
		t.Errorf("overflow: got %+v", got)
	}
}

// Gemini reports rates as quotas.
func TestGeminiQuota(t *testing.T) {
	body := func(quota, wait string) []byte {
		return []byte(`{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + quota + `"}]},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + wait + `"}]}}`)
	}
	for _, test := range []struct {
		quota, wait string
		want        llm.Kind
	}{
		{"GenerateContentInputTokensPerModelPerMinute-FreeTier", "34s", llm.Throttle},
		{"GenerateRequestsPerDayPerProjectPerModel-FreeTier", "34s", llm.Quota},
		{"GenerateContentInputTokensPerModelPerMinute-FreeTier", "3600s", llm.Quota},
	} {
		if got := llm.Classify(429, nil, body(test.quota, test.wait)); got.Kind != test.want {
			t.Errorf("%s, %s: got %+v", test.quota, test.wait, got)
		}
	}
}

// Wrapping an error up to two levels changes nothing.
func TestWrappingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(shapes).Draw(t, "shape")
		body := openAI(s)
		if s.code == "" && rapid.Bool().Draw(t, "plain") {
			body = s.text
		}
		for range rapid.IntRange(0, 2).Draw(t, "levels") {
			switch rapid.IntRange(0, 4).Draw(t, "wrapper") {
			case 0:
				body = object("error", map[string]any{"message": body, "type": "upstream_failure"})
			case 1:
				body = object("error", map[string]any{"message": "Provider returned error", "code": 400, "metadata": map[string]any{"raw": body}})
			case 2:
				body = object("message", body)
			case 3:
				body = object("detail", body)
			case 4:
				body = object("errors", []any{map[string]any{"message": body}})
			}
		}
		if got := llm.Classify(s.status, nil, []byte(body)); !s.fits(got) {
			t.Fatalf("%s: got %+v\n%s", s.id, got, body)
		}
	})
}

// Digits in an echoed list of numbers change nothing.
func TestEchoChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(shapes).Draw(t, "shape")
		if s.text == "" {
			s.text = "invalid request body"
		}
		numbers := rapid.SliceOfN(rapid.SampledFrom([]int{200, 400, 401, 402, 403, 408, 413, 429, 500, 503, 529, 1261, 8192, 131_072, 336_103}), 8, 4000).Draw(t, "numbers")
		separator := rapid.SampledFrom([]string{",", ", ", ",\n  "}).Draw(t, "separator")
		echo := strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", separator)
		if rapid.Bool().Draw(t, "in the text") && s.id[:3] != "E40" {
			s.text += " [" + echo + "]"
			if got := llm.Classify(s.status, nil, []byte(openAI(s))); !s.fits(got) {
				t.Fatalf("%s: got %+v", s.id, got)
			} else if utf8.RuneCountInString(got.Message) > 500 || strings.Contains(got.Message, "408") {
				t.Fatalf("message %q", got.Message)
			}
			return
		}
		body := strings.TrimSuffix(openAI(s), "}") + `,"input":[` + echo + `],"request_id":"` + fmt.Sprint(numbers[0]) + `"}`
		if got := llm.Classify(s.status, nil, []byte(body)); !s.fits(got) {
			t.Fatalf("%s: got %+v", s.id, got)
		}
	})
}

func TestClassifyReply(t *testing.T) {
	said := func(input, output int) llm.Usage { return llm.Usage{Reported: true, Input: input, Output: output} }
	for _, test := range []struct {
		name             string
		reply            *llm.Reply
		estimate, window int
		want             llm.Kind
	}{
		{"no reply", nil, 50_000, 32_768, ""},
		{"E04 and ERR-20", &llm.Reply{Stop: llm.StopOverflow, StopReason: "model_context_window_exceeded"}, 0, 0, llm.Overflow},
		{"E36, appendix C 8b, TOK-25", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(16_386, 10)}, 50_000, 32_768, llm.Silent},
		{"E36, window unknown", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(16_386, 10)}, 50_000, 0, llm.Silent},
		{"E36, estimate 40 % too low", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(16_386, 10)}, 30_000, 32_768, llm.Silent},
		{"E36, estimate 40 % too high", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(16_386, 10)}, 70_000, 32_768, llm.Silent},
		{"E36, cut to 4096", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(4096, 10)}, 6000, 0, llm.Silent},
		{"E36, cut to half of a window of no power", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(20_001, 10)}, 30_000, 40_000, llm.Silent},
		{"honest, near a power of two", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(16_386, 10)}, 22_900, 32_768, ""},
		{"honest, estimate 40 % too high", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(10_000, 10)}, 14_000, 200_000, ""},
		{"honest, estimate 40 % too low", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(10_000, 10)}, 6000, 200_000, ""},
		{"small", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(100, 10)}, 1000, 200_000, ""},
		{"from the cache", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: llm.Usage{Reported: true, Input: 10, CacheRead: 50_000}}, 50_000, 200_000, ""},
		{"TOK-19: nothing reported", &llm.Reply{Text: "x", Stop: llm.StopEnd}, 50_000, 32_768, ""},
		{"no input reported", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(0, 10)}, 50_000, 32_768, ""},
		{"E44", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(210_000, 10)}, 0, 200_000, llm.Silent},
		{"exactly the window", &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: said(200_000, 10)}, 0, 200_000, ""},
		{"E45", &llm.Reply{Stop: llm.StopLength, Usage: said(198_000, 0)}, 0, 200_000, llm.Silent},
		{"E45, room left", &llm.Reply{Stop: llm.StopLength, Usage: said(197_999, 0)}, 0, 200_000, ""},
		{"E45, something said", &llm.Reply{Stop: llm.StopLength, Text: "x", Usage: said(198_000, 1)}, 0, 200_000, ""},
		{"E45, something thought", &llm.Reply{Stop: llm.StopLength, Reasoned: true, Usage: said(198_000, 0)}, 0, 200_000, ""},
		{"E45, a normal end", &llm.Reply{Stop: llm.StopEnd, Usage: said(198_000, 0)}, 0, 200_000, ""},
	} {
		got := llm.ClassifyReply(test.reply, test.estimate, test.window)
		switch {
		case got == nil && test.want == "":
		case got == nil || got.Kind != test.want:
			t.Errorf("%s: got %v, want %q", test.name, got, test.want)
		case got.Message == "" || got.Status != 200:
			t.Errorf("%s: got %+v", test.name, got)
		}
	}
}

// What was read as it is never passes for cut away, and what was cut to a third always does, if the estimate is wrong by 40 %
// at most.
func TestClassifyReplyBadEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.IntRange(1, 1_000_000).Draw(t, "input")
		estimate := int(float64(input) * rapid.Float64Range(0.6, 1.4).Draw(t, "error"))
		r := &llm.Reply{Text: "x", Stop: llm.StopEnd, Usage: llm.Usage{Reported: true, Input: input, Output: 1}}
		if got := llm.ClassifyReply(r, estimate, 0); got != nil {
			t.Fatalf("honest: %v", got)
		}
		r.Usage.Input = input / 3
		if got := llm.ClassifyReply(r, estimate, 0); r.Usage.Input > 0 && estimate >= 1024 && (got == nil || got.Kind != llm.Silent) {
			t.Fatalf("cut: %v", got)
		}
	})
}

// What everybody may rely on, whatever comes.
func checkError(t *testing.T, status int, e *llm.Error) {
	t.Helper()
	if e == nil || e.Kind == "" || e.Status != status {
		t.Fatalf("got %+v", e)
	}
	if e.Limit < 0 || e.Requested < 0 || e.Input < 0 || e.Input > e.Requested || e.RetryAfter < 0 {
		t.Fatalf("sizes of %+v", e)
	}
	if e.Kind == llm.OutputLimit && e.Input > 0 && e.Limit > 0 && e.Input >= e.Limit {
		t.Fatalf("the input does not fit, and the output is blamed: %+v", e)
	}
	for _, text := range []string{e.Message, e.Code} {
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 500 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Fatalf("text %q", text)
		}
	}
}

func FuzzClassify(f *testing.F) {
	for i, s := range shapes {
		f.Add(s.status, carriers[i%len(carriers)].body(s), "")
	}
	f.Add(429, "", "Mon, 02 Jan 2006 15:05:35 GMT")
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		h := http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {after}, "Date": {"Mon, 02 Jan 2006 15:04:05 GMT"}}
		got := llm.Classify(status, h, []byte(body))
		checkError(t, status, got)
		if again := llm.Classify(status, h, []byte(body)); *again != *got {
			t.Fatalf("%+v, then %+v", got, again)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	echo := strings.Repeat("429, ", 200_000)
	for name, body := range map[string]string{
		"small":           openAI(shapes[0]),
		"1 MB in a text":  object("error", map[string]any{"message": "prompt is too long: " + echo}),
		"1 MB of an echo": `{"error":{"message":"prompt is too long"},"input":[` + echo + `1]}`,
		"1 MB of text":    strings.Repeat("nothing of interest, ", 50_000),
		"1 MB of braces":  strings.Repeat(`{"a": {`, 150_000),
		"1 MB of events":  strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n", 20_000),
		"1 MB of errors":  `{"errors":[` + strings.Repeat(`{"message":"no"},`, 60_000) + `{}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(body)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if e := llm.Classify(400, nil, data); e == nil {
					b.Fatal("nothing")
				}
			}
		})
	}
}
