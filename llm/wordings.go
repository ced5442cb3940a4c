package llm

import "strings"

// wording is a turn of phrase by which errors are known, in the form that foldText gives to texts: its parts stand in a
// text in that order, not far from each other.
type wording []string

// maxApart is how far apart the parts of a wording may stand, in bytes.
const maxApart = 120

// wordings splits each line at its dots.
func wordings(lines ...string) []wording {
	out := make([]wording, len(lines))
	for i, line := range lines {
		out[i] = strings.Split(line, " .. ")
	}
	return out
}

// in reports whether the wording stands in a folded text.
func (w wording) in(text string) bool {
	for {
		i := strings.Index(text, w[0])
		if i < 0 {
			return false
		}
		text = text[i+len(w[0]):]
		if w[1:].near(text) {
			return true
		}
	}
}

// near reports whether the parts follow soon.
func (w wording) near(text string) bool {
	for _, part := range w {
		i := strings.Index(text[:min(len(text), maxApart+len(part))], part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// The wordings of providers, and their codes as foldCode writes them. The rows are those of the table of overflow errors in
// the tests. Where two lists could claim a text, the order in which [Classify] asks them decides.
var (
	// A rate, whatever it counts.
	rateWordings = wordings(
		"tokens per min", "tokens per day", "tokens per hour", "tokens per second",
		"requests per min", "requests per day", "requests per hour", "requests per second",
		"(tpm)", "(tpd)", "(rpm)", "(rpd)", "rate limit", "ratelimit", "rate exceeded",
		"too many requests", "toomanyrequests", "throttling", "throttled", "please wait before", "too many tokens, please wait",
	)
	rateCodes = codes(
		"ratelimitexceeded", "ratelimiterror", "ratelimitreached", "ratelimited", "throttlingexception", "throttlingerror",
		"toomanyrequests", "toomanyrequestsexception", "resourceexhausted", "slowdown",
	)

	// No money, or none left to spend.
	quotaWordings = wordings(
		"credit balance is too low", "insufficient balance", "insufficient credit", "insufficient quota", "insufficient funds",
		"not enough credit", "more credits", "out of credits", "exceeded your current quota", "billing hard limit", "payment required",
		"account is not active", "account is in good standing", "spending limit", "spend limit", "usage limit has been reached",
		"usage limit reached", "monthly usage limit", "quota .. exhausted",
	)
	quotaCodes = codes(
		"insufficientquota", "insufficientbalance", "insufficientcredits", "exceededcurrentquotaerror", "billinghardlimitreached",
		"billingnotactive", "billingerror", "arrearage", "usagelimitreached", "paymentrequired", "creditsexhausted",
		"servicequotaexceededexception",
	)

	// One field is too long, which says nothing of the window.
	fieldWordings = wordings("string too long", "string above max length")
	fieldCodes    = codes("stringabovemaxlength")

	// The provider has too much to do.
	busyWordings = wordings(
		"service tier capacity exceeded", "exceeds the maximum usage size allowed during peak load", "overloaded",
	)
	busyCodes = codes("servicetiercapacityexceeded", "overloadederror", "overloaded", "modelnotreadyexception")

	// Pictures that are too many or too large.
	imageWordings = wordings(
		"image dimensions", "many image requests", "too many images", "image exceeds", "image size", "image too large",
		"image .. pixels", "images .. pixels", "image .. px", "images .. px", "number of images",
	)

	// More output than there is room for, or than the model gives.
	outputWordings = wordings(
		"input length and max tokens exceed context limit", "input and maximum output tokens .. exceed", "inputs tokens + max new tokens must be",
		"tokens + max tokens .. exceed", "maximum allowed number of output tokens",
		"max tokens must be less than", "max tokens must be at most", "max tokens must be <=", "max tokens must be lower", "max tokens cannot exceed",
		"max completion tokens must be less than", "max completion tokens must be at most", "max completion tokens must be <=",
		"max output tokens must be less than", "max output tokens must be at most", "max output tokens must be <=",
		"max new tokens must be less than", "max new tokens must be at most", "max new tokens must be <=",
		"max tokens .. too large", "max completion tokens .. too large", "max output tokens .. too large", "max new tokens .. too large",
		"max tokens .. integer above max", "max completion tokens .. integer above max", "max output tokens .. integer above max",
		"max tokens .. > ", "supports at most .. completion tokens", "supports at most .. output tokens", "invalid max tokens value",
		"valid range of max tokens", "maximum tokens you requested exceeds", "exceeds the maximum output", "maximum output tokens .. exceed",
	)

	// A body that is too large. A text that speaks of tokens is about something else.
	byteWordings = wordings(
		"request exceeds the maximum size", "request too large", "request entity too large", "entity too large", "payload too large",
		"content too large", "body too large", "body is too large", "body exceed", "payload size exceeds", "exceeds the maximum request size",
		"exceeds .. bytes", "bytes > ", "maximum request size", "request size .. exceed",
	)
	byteCodes = codes("requesttoolarge", "requestentitytoolarge", "payloadtoolarge", "contenttoolarge", "bodytoolarge")

	// Input that does not fit.
	overflowWordings = wordings(
		"prompt is too long", "prompt too long", "prompt 超长", "prompt tokens too long", "input is too long", "input too long",
		"input length .. exceed", "input tokens exceed", "input token count .. exceed", "number of input tokens exceeds",
		"prompt tokens .. exceed", "prompt token count .. exceed", "exceeds maximum input length",
		"context length exceeded", "context window exceeded", "contextwindowexceeded", "contextlengthexceeded", "context overflow",
		"maximum context length", "maximum prompt length", "maximum model length", "max context length",
		"exceed .. context window", "exceed .. context length", "exceed .. context size", "exceed .. context limit", "exceeds context",
		"context window exceeds limit", "context size has been exceeded", "context window limit", "context the overflows",
		"longer than the model's context", "too large for model with", "greater than the context length",
		"prompt has .. context size", "exceeded model token limit", "model max prompt tokens exceeded",
		"too many total text bytes", "too many input tokens", "expected maxlength:",
		"reduce the length of the messages", "reduce the length of the input prompt", "reduce the length of either one",
		"range of input length should be", "exceed max message tokens", "超出了模型最大token限制",
		"inputs must have less than", "current length is .. while limit is", "total tokens exceeds the model's max",
		"total length of all messages is too long", "tokens in request more than max tokens allowed", "tokens exceeds the limit of",
		"tokens in the prompt cannot exceed", "body too large .. max size: .. tokens", "tokens limit reached", "token limit exceeded",
		"400 status code (no body)", "413 status code (no body)",
	)
	overflowCodes = codes(
		"contextlengthexceeded", "contextoverflow", "contextwindowexceeded", "contextwindowexceedederror", "modelcontextwindowexceeded",
		"maxcontextlengthexceeded", "tokenlimitexceeded", "tokenslimitreached", "prompttoolong", "inputtoolarge", "inputtoolong",
		"exceedcontextsizeerror", "modelmaxprompttokensexceeded",
		"1261",   // Zhipu
		"336103", // Baidu Qianfan
	)

	// Content that is not wanted.
	filterWordings = wordings(
		"content policy", "content filter", "content management policy", "safety system", "safety filter", "safety settings", "due to safety",
		"blocked .. safety", "safety reasons", "violates our usage polic", "violating our usage polic", "violates .. usage polic", "was flagged", "were flagged",
		"inappropriate content", "prohibited content", "flagged as potentially",
	)
	filterCodes = codes(
		"contentpolicyviolation", "contentfilter", "contentfiltered", "contentfiltererror", "responsibleaipolicyviolation", "safety", "prohibitedcontent",
		"blocklist", "recitation", "datainspectionfailed", "moderationblocked", "cyberpolicyviolation",
	)

	// A key that is missing, wrong, or not enough.
	authWordings = wordings(
		"invalid api key", "incorrect api key", "api key not valid", "invalid x api key", "missing api key", "no api key", "unauthorized",
		"authentication failed", "invalid authentication", "permission denied", "access denied", "api key expired", "token expired", "no auth credentials",
	)
	authCodes = codes(
		"invalidapikey", "apikeyinvalid", "authenticationerror", "permissionerror", "permissiondenied", "unauthenticated", "unauthorized", "forbidden",
		"accessdenied", "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception", "modelaccessdenied",
	)

	// A failure of the provider itself.
	transientCodes = codes(
		"apierror", "servererror", "internalerror", "internal", "internalservererror", "internalserverexception", "serviceunavailable",
		"serviceunavailableerror", "serviceunavailableexception", "unavailable", "deadlineexceeded", "timeouterror", "timeout",
		"modelstreamerrorexception", "modeltimeoutexception", "modelerrorexception", "badgateway", "gatewaytimeout", "upstreamerror",
	)
	// invalidCodes say that the request is at fault, even in the middle of a stream.
	invalidCodes = codes("invalidrequesterror", "invalidrequest", "invalidargument", "validationexception", "notfounderror", "modelnotfound", "invalidprompt")

	// emptyTexts say nothing that the status does not: they stand around what does.
	emptyTexts = codes(
		"error", "badrequest", "invalidrequest", "providerreturnederror", "upstreamerror", "internalservererror", "invalidrequestbody", "requestfailed",
	)
)

// codes is a set of codes.
func codes(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, c := range list {
		set[c] = true
	}
	return set
}
